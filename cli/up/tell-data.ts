import type { Clock } from '#src/ports/clock.ts';
import type { DataState } from '#src/protocol/node/parts.ts';
import { bytes, duration } from '../print/amounts.ts';

/** A build that takes seconds is told a few times, and one that takes minutes not a hundred times. */
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
      return `data: ${message ?? command} The environment's author mends it; its rollouts are answered 503 until then`;
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
