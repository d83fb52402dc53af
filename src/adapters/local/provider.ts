import { Compile } from 'typebox/compile';
import { Pool } from 'undici';
import type { Clock } from '#src/ports/clock.ts';
import type { SandboxProvider } from '#src/ports/sandbox-provider.ts';
import type { DataState } from '#src/protocol/node/parts.ts';
import {
  type CreateBody,
  DataAnswer,
  type LabelBody,
  LimitationsAnswer,
  ListAnswer,
} from '#src/protocol/node/wire.ts';
import { createAsk } from './ask.ts';
import { watchNode } from './watch.ts';

const listCheck = Compile(ListAnswer);
const dataCheck = Compile(DataAnswer);
const limitationsCheck = Compile(LimitationsAnswer);

export type LocalProviderOptions = {
  /** `node.sock` in node's state folder. */
  readonly socketPath: string;
  readonly clock: Clock;
};

export type LocalProvider = SandboxProvider & {
  /** Data that environments' programs make once on this machine. */
  data(): Promise<readonly DataState[]>;
  /** Ends its connections; a watch is ended by its own signal. */
  close(): Promise<void>;
};

/** Requests to one node at a time; creates are accepted in a millisecond, so more would only wait inside node. */
const connections = 16;

/** The provider of one machine: a client of `node`, which alone makes and ends sandboxes there. */
export function createLocalProvider({ socketPath, clock }: LocalProviderOptions): LocalProvider {
  const pool = new Pool('http://node', { connections, socketPath });
  const ask = createAsk(pool, socketPath);
  return {
    create: ({ sandbox, template, tokenSha256 }) =>
      ask.send('PUT', path(sandbox), { template, tokenSha256 } satisfies CreateBody),
    destroy: (sandbox) => ask.send('DELETE', path(sandbox)),
    label: (sandbox, owner, expiresAtMs) =>
      ask.send('PUT', path(sandbox, '/label'), { owner, expiresAtMs } satisfies LabelBody),
    list: async () => (await ask.read('/sandboxes', listCheck)).sandboxes,
    data: async () => (await ask.read('/data', dataCheck)).data,
    limitations: async () => (await ask.read('/limitations', limitationsCheck)).limitations,
    watch: (onEvent, signal) => watchNode({ socketPath, clock, onEvent, signal }),
    close: () => pool.destroy(),
  };
}

const path = (sandbox: string, part = '') => `/sandboxes/${encodeURIComponent(sandbox)}${part}`;
