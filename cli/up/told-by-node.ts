import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { Client } from 'undici';
import type { Clock } from '#src/ports/clock.ts';
import type { DataState } from '#src/protocol/node/parts.ts';
import { DataAnswer, LimitationsAnswer } from '#src/protocol/node/wire.ts';
import { bytes, duration } from '../print/amounts.ts';

/** A build of seconds is reported a few times, a build of minutes not a hundred times. */
const lookEveryMs = 1_000;
const tellEveryMs = 5_000;

/** One line for where the data of an environment stands. */
export function describeData({ argv, state, seconds, bytes: size, message, digest }: DataState): string {
  const command = argv.join(' ');
  const took = duration((seconds ?? 0) * 1000);
  switch (state) {
    case 'building':
      return `data: ${command} is building, ${took}, ${bytes(size)} so far`;
    case 'ready':
      return `data: ${command} is ready (${bytes(size)}, ${took}, digest ${digest.slice(0, 12)})`;
    case 'failed':
      return `data: ${message ?? command} The environment's author fixes it; its rollouts are answered 503 until then`;
  }
}

/** Tells of data while it is built and how that ended, until the signal aborts. A node that is away is asked again. */
export async function tellData(
  ask: () => Promise<readonly DataState[]>,
  tell: (state: DataState) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const told = new Map<string, { readonly state: DataState['state']; readonly atMs: number }>();
  while (!signal.aborted) {
    for (const data of await ask().catch((): readonly DataState[] => [])) {
      const last = told.get(data.digest);
      const isNews = last?.state !== data.state;
      const isDue = data.state === 'building' && clock.monotonicMs() - (last?.atMs ?? 0) >= tellEveryMs;
      if (!isNews && !isDue) continue;
      told.set(data.digest, { state: data.state, atMs: clock.monotonicMs() });
      tell(data);
    }
    await clock.sleep(lookEveryMs, signal);
  }
}

/** Data that environments' programs make here, and how far each is. */
export const askData = async (nodeSocket: string): Promise<readonly DataState[]> =>
  (await ask(nodeSocket, '/data', DataAnswer)).data;

/** How well this host isolates, and what it cannot enforce, in node's own sentences. */
export const askHostLimitations = (nodeSocket: string): Promise<LimitationsAnswer> =>
  ask(nodeSocket, '/limitations', LimitationsAnswer);

async function ask<Schema extends TSchema>(
  socketPath: string,
  path: string,
  schema: Schema,
): Promise<Static<Schema>> {
  const client = new Client('http://node', { socketPath });
  try {
    const { body } = await client.request({ method: 'GET', path });
    return Value.Parse(schema, await body.json());
  } finally {
    await client.destroy();
  }
}
