import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createFeed } from '#services/node/sandbox/feed.ts';
import type { Sandboxes } from '#services/node/sandbox/sandboxes.ts';
import { createHandle } from '#services/node/serving/handle.ts';
import { serve } from '#services/node/serving/serve.ts';
import type { Template } from '#src/model/environment.ts';
import type { SandboxId } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import type { ProvidedSandbox } from '#src/ports/sandbox-provider.ts';
import { nodeSocketName } from '#src/protocol/node/wire.ts';
import { createInhabitant, type Inhabitant } from '../kubernetes/sandboxds/inhabitant.ts';

/**
 * `node` where sandboxes are played: it is asked as the real one is, and what it starts runs at once, at an address of this
 * machine's own network, where this one process answers as the sandboxd of each. Nothing is made and nothing is run.
 */
type Life = { provided: ProvidedSandbox; readonly inhabitant: Inhabitant };

const lives = new Map<SandboxId, Life>();
const byHost = new Map<string, Life>();
const feed = createFeed();

const street = createServer((request, response) => {
  const life = byHost.get(request.socket.localAddress ?? '');
  if (life === undefined) request.socket.destroy();
  else life.inhabitant.answer(request, response);
});
// A gateway keeps one connection to each of them.
street.keepAliveTimeout = 600_000;
street.listen(0, '0.0.0.0', 4_096);
await once(street, 'listening');
const { port } = street.address() as AddressInfo;

const outputBytes = Number(process.env['BENCH_OUTPUT_BYTES'] ?? 0);
let made = 0;
const sandboxes: Sandboxes = {
  has: (sandbox) => lives.has(sandbox),
  create: ({ sandbox, template, tokenSha256 }) => {
    if (lives.has(sandbox)) return;
    made += 1;
    const host = hostOf(made);
    const address = sandboxAddress(`http://${host}:${port}`);
    const env = {
      CORRAL_SANDBOX_ID: sandbox,
      CORRAL_TOKEN_SHA256: tokenSha256,
      CORRAL_LISTEN: `tcp:${host}:${port}`,
    };
    const inhabitant = createInhabitant({ uid: sandbox, address: host, env }, outputBytes);
    const provided: ProvidedSandbox = {
      sandbox,
      template: template.digest,
      phase: 'running',
      address,
      createdAtMs: Date.now(),
      owner: null,
      expiresAtMs: null,
    };
    const life = { provided, inhabitant };
    lives.set(sandbox, life);
    byHost.set(host, life);
    setImmediate(() => feed.tell({ kind: 'running', sandbox, address }));
  },
  destroy: (sandbox) => {
    const life = lives.get(sandbox);
    if (life === undefined) return;
    lives.delete(sandbox);
    byHost.delete(new URL(life.provided.address ?? '').hostname);
    feed.tell({ kind: 'gone', sandbox, cause: 'deleted', evidence: {} });
  },
  label: (sandbox, owner, expiresAtMs) => {
    const life = lives.get(sandbox);
    if (life !== undefined) life.provided = { ...life.provided, owner, expiresAtMs };
  },
  list: () => [...lives.values()].map(({ provided }) => provided),
  look: async () => undefined,
  stop: async () => undefined,
};

/** One of the sixteen million addresses by which a machine speaks to itself; not 127.0.x.x, where others listen. */
function hostOf(number: number): string {
  return `127.${1 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
}

const nothingBuilt = {
  placed: (template: Template) => Promise.resolve(template),
  states: () => [],
  stop: () => Promise.resolve(),
};

const silent = () => undefined;
await serve(
  join(process.env['CORRAL_NODE_STATE_DIR'] ?? '', nodeSocketName),
  createHandle({
    sandboxes,
    feed,
    limitations: [],
    isolation: 'none: no sandbox is real',
    data: nothingBuilt,
    images: {
      hold: () => Promise.resolve(null),
      stopPulling: () => undefined,
      stop: () => Promise.resolve(),
    },
  }),
  { debug: silent, info: silent, warn: console.warn, error: console.error },
);
process.on('SIGTERM', () => process.exit(0));
