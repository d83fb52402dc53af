import { hostname } from 'node:os';
import { Compile } from 'typebox/compile';
import { Pool, type Dispatcher, Client } from 'undici';
import type { Template } from '#src/model/environment.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { SandboxProvider, ProviderEvent } from '#src/ports/sandbox-provider.ts';
import type { DataState } from '#src/protocol/node/parts.ts';
import {
  type CreateBody,
  DataAnswer,
  type LabelBody,
  LimitationsAnswer,
  ListAnswer,
  NodeErrorBody,
  WatchLine,
  watchSilenceMs,
} from '#src/protocol/node/wire.ts';
import { failsEverywhere } from '#src/failure/codes.ts';
import { Failure } from '#src/failure/failure.ts';
import { createInterface } from 'node:readline';
import { longestPauseMs } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';

const listCheck = Compile(ListAnswer);
const dataCheck = Compile(DataAnswer);
const limitationsCheck = Compile(LimitationsAnswer);

type LocalProviderOptions = {
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
    create: async ({ sandbox, template, tokenSha256 }) => {
      refuseDevices(template);
      await ask.send('PUT', path(sandbox), { template, tokenSha256 } satisfies CreateBody);
    },
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

/** No sandbox starts without what its environment has: a task for a GPU would be scored by what it did without one. */
function refuseDevices({ devices }: Template): void {
  if (devices === undefined) return;
  const names = Object.keys(devices).join(', ');
  throw new Failure('start_failed', `sandboxes of one machine have no devices; ${names} needs a cluster`, {
    evidence: failsEverywhere,
  });
}

const path = (sandbox: string, part = '') => `/sandboxes/${encodeURIComponent(sandbox)}${part}`;

/** Requests to node whose failures are already {@link Failure}s. */
type Ask = {
  send(method: 'PUT' | 'DELETE', path: string, body?: object): Promise<void>;
  read<Answer>(path: string, check: Check<Answer>): Promise<Answer>;
};

/** A compiled schema: a list of two hundred sandboxes is checked by one in a hundredth of the time that the schema takes. */
type Check<Answer> = { Check(value: unknown): value is Answer };

const errorCheck = Compile(NodeErrorBody);

/** Node answers at once or is stuck; a caller asks again rather than waits. */
const answerTimeoutMs = 10_000;

function createAsk(pool: Pool, socketPath: string): Ask {
  const request = async (method: Dispatcher.HttpMethod, path: string, body?: object) => {
    try {
      const answer = await pool.request({
        method,
        path,
        signal: AbortSignal.timeout(answerTimeoutMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.statusCode, text: await answer.body.text() };
    } catch (thrown) {
      throw nodeIsSilent(socketPath, thrown);
    }
  };
  return {
    send: async (method, path, body) => {
      const { status, text } = await request(method, path, body);
      if (status >= 300) throw refused(status, text);
    },
    read: async (path, check) => {
      const { status, text } = await request('GET', path);
      const value = status === 200 ? parse(text) : undefined;
      if (value !== undefined && check.Check(value)) return value;
      throw refused(status, text);
    },
  };
}

/** Node could not be asked: it may be starting, or gone together with its sandboxes. */
function nodeIsSilent(socketPath: string, thrown: unknown): Failure {
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return new Failure('provider_unavailable', `node does not answer at ${socketPath}: ${detail}`, {
    cause: thrown,
    evidence: { socketPath, detail },
    retryAfterMs: 1000,
  });
}

/** Node's own refusal. One that is no answer of this protocol is ours to fix, and `unclassified` says so. */
function refused(status: number, text: string): Failure {
  const body = parse(text);
  const error = errorCheck.Check(body) ? body.error : null;
  if (error === null || error.code === 'invalid_request') {
    const said = error?.message ?? text.slice(0, 200);
    return new Failure('unclassified', `node did not understand the request: ${said}`, {
      evidence: { status },
    });
  }
  // Node takes back none of these: the same request fails there again.
  const lasting = status === 422 ? failsEverywhere : {};
  return new Failure(error.code, error.message, { evidence: { status, ...lasting } });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const lineCheck = Compile(WatchLine);

type WatchOptions = {
  readonly socketPath: string;
  readonly clock: Clock;
  readonly onEvent: (event: ProviderEvent) => void;
  readonly signal: AbortSignal;
};

/** Watches until the signal aborts, over as many connections as it takes. Never rejects. */
async function watchNode(options: WatchOptions): Promise<void> {
  const { clock, signal } = options;
  let failed = 0;
  while (!signal.aborted) {
    const heard = await watchOnce(options);
    failed = heard ? 1 : failed + 1;
    await clock.sleep(longestPauseMs(retryPolicies.nodeWatch.pauses, failed), signal);
  }
}

/** One connection, until it ends in whatever way; returns whether it brought anything. */
async function watchOnce({ socketPath, onEvent, signal }: WatchOptions): Promise<boolean> {
  // undici ends a body that is silent for longer; node says something every few seconds.
  const client = new Client('http://node', {
    socketPath,
    headersTimeout: watchSilenceMs,
    bodyTimeout: watchSilenceMs,
  });
  let heard = false;
  try {
    const { body, statusCode } = await client.request({ method: 'GET', path: '/watch', signal });
    if (statusCode !== 200) return false;
    // Aborted between two lines it is an error that nobody else hears, and that would end the process.
    body.on('error', () => undefined);
    for await (const line of createInterface({ input: body })) {
      if (signal.aborted) break;
      const event = eventIn(line);
      heard = true;
      if (event !== null) onEvent(event);
    }
  } catch {
    // Whatever ended it: the next connection starts from the whole list.
  } finally {
    await client.destroy();
  }
  return heard;
}

/** Null for a sign of life. Throws on a line that is none of node's, which ends the connection. */
function eventIn(line: string): ProviderEvent | null {
  const value: unknown = JSON.parse(line);
  if (!lineCheck.Check(value)) throw new Error(`node sent an unknown line: ${line.slice(0, 200)}`);
  if (value.kind === 'alive') return null;
  // Node listens on a socket of this machine, so its name is this machine's.
  return value.kind === 'gone' ? { ...value, evidence: { ...value.evidence, node: hostname() } } : value;
}
