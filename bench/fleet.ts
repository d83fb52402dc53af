import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { type Fleet, type RunningFleet, startFleet } from '#cli/fleet/start-fleet.ts';
import { inOwnFolder, metricsOf, readyIn } from '#cli/fleet/temporary-fleet.ts';

const repository = join(import.meta.dirname, '..');

/** A client of a fleet's RFT face that opens as many connections as it needs. */
export type BenchClient = {
  /** One tool call; throws on everything but 200. */
  call(rollout: string, call: string, command: string): Promise<string>;
  /** The same, with whatever status came. */
  tryCall(rollout: string, call: string, command: string): Promise<{ status: number; body: string }>;
  finish(rollout: string): Promise<void>;
  /** Resolves when so many sandboxes have answered their no-op and wait for a rollout. */
  warm(count: number): Promise<void>;
  /** The controller's metrics, as text. */
  metrics(): Promise<string>;
  close(): Promise<void>;
};

/** The whole fleet for one benchmark. */
export type BenchFleet = AsyncDisposable & BenchClient & { readonly fleet: Fleet };

export const startBenchFleet = (pool: { minReady: number; max: number }): Promise<BenchFleet> =>
  startFleetFor('bench/environments', { bench: pool });

/** With other environments than the plain one; `pool`: sizes that are not theirs. */
export async function startFleetFor(
  folder: string,
  pool: Readonly<Record<string, { minReady: number; max: number }>> = {},
): Promise<BenchFleet> {
  const environmentsDir = join(repository, folder);
  const payloadDir = join(repository, 'out/payload');
  const fleet = await inOwnFolder('bench', (stateDir) =>
    startFleet({ environmentsDir, stateDir, payloadDir, pool }),
  );
  const client = createBenchClient(fleet, 'bench');
  return {
    fleet,
    ...client,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await fleet.stop();
    },
  };
}

/** Calls the tool `shell` of one environment. */
export function createBenchClient(fleet: RunningFleet, environment: string): BenchClient {
  // Unlimited connections: a burst is a burst, and not what a client's pool makes of it.
  const agent = new Agent({ connections: null, headersTimeout: 0, bodyTimeout: 0 });
  const headers = { authorization: `Bearer ${fleet.apiKey}`, 'content-type': 'application/json' };
  const send = async (method: 'GET' | 'POST', path: string, body?: object) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await request(fleet.gatewayUrl + path, { method, headers, dispatcher: agent, ...sent });
    return { status: answer.statusCode, body: await answer.body.text() };
  };
  const tryCall = (rollout: string, call: string, command: string) =>
    send('POST', `/rft/${environment}/tools/shell`, {
      type: 'function_call',
      id: call,
      call_id: call,
      name: 'shell',
      arguments: JSON.stringify({ command }),
      trace_id: rollout,
    });
  const metrics = () => metricsOf(fleet);
  return {
    tryCall,
    call: async (rollout, call, command) => {
      const { status, body } = await tryCall(rollout, call, command);
      if (status !== 200) throw new Error(`${status} ${body}`);
      return body;
    },
    finish: async (rollout) => {
      await send('POST', `/v1/rollouts/${rollout}/finish`, {});
    },
    warm: (count) => untilWarm(metrics, count),
    metrics,
    close: () => agent.close(),
  };
}

/** Two hundred sandboxes on two cores take a minute or two. */
const warmDeadlineMs = 10 * 60_000;
/** A controller counts its pools every five seconds: what it says before the next count may be of before they were used. */
const countedAgainMs = 6_000;

async function untilWarm(metrics: () => Promise<string>, count: number): Promise<void> {
  await sleep(countedAgainMs);
  const deadlineMs = Date.now() + warmDeadlineMs;
  while (Date.now() < deadlineMs) {
    if (readyIn(await metrics()) >= count) return;
    await sleep(200);
  }
  throw new Error(`the pool did not reach ${count} ready sandboxes in ${warmDeadlineMs / 60_000} minutes`);
}
