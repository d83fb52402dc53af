import { openHttp } from '#demo/trainer/http.ts';
import { trainingJob } from '#demo/trainer/training-job.ts';
import { playRollout, type Script } from '#loadtest/trainer/play-rollout.ts';
import type { RolloutTruth } from '#loadtest/trainer/truth.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';

/** What a platform gives a request; less, and a busy machine uses up the retries that the faults are to use. */
const patienceMs = 600_000;

/** A rollout of the environment `shell` whose steps are one call each, that sleeps and then is done. */
export function scriptOf(rollout: string, calls: number, sleepMs = 0): Script {
  const work = { sleepMs, outputBytes: 0, mischief: null } as const;
  return {
    rollout,
    item: { id: 'task' },
    steps: Array.from({ length: calls }, () => ({ thinkMs: 0, calls: [work] })),
    cancelled: false,
    client: { timeoutMs: patienceMs, jitter: true, freshIds: false },
  };
}

/** Plays all of them at once as a platform does, through these gateways by turns; resolves when each has ended. */
export async function playAll(
  gatewayUrls: readonly [string, ...string[]],
  apiKey: string,
  scripts: readonly Script[],
): Promise<readonly RolloutTruth[]> {
  const http = openHttp();
  const jobAt = (gatewayUrl: string) =>
    trainingJob({ gatewayUrl, apiKey, run: 'development', environment: 'shell', tools: ['shell'] });
  const [first, ...others] = gatewayUrls;
  const world = {
    jobs: [jobAt(first), ...others.map(jobAt)] as const,
    post: http.post,
    clock: systemClock,
    random: systemRandom,
    startMs: systemClock.monotonicMs(),
    stopping: new AbortController().signal,
    onCalling: () => undefined,
  };
  try {
    return await Promise.all(scripts.map((script) => playRollout(script, world)));
  } finally {
    await http.close();
  }
}
