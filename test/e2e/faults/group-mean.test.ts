import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHttp } from '../../../demo/trainer/http.ts';
import { trainingJob } from '../../../demo/trainer/training-job.ts';
import { playRollout } from '../../../loadtest/trainer/play-rollout.ts';
import type { Script } from '../../../loadtest/trainer/play-rollout.ts';
import { groupMeans } from '../../../loadtest/trainer/verdict.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { systemRandom } from '../../../src/platform/random.ts';
import { startFleetOfTest } from '../../support/fleet.ts';
import type { FleetOfTest } from '../../support/fleet.ts';

/** A rollout's reward is the number of its calls. */
const environment = `
name: shell
sandbox: { image: host, disk: 64Mi }
tools: { shell: { builtin: shell } }
grader: { kind: command, command: [sh, -c, 'wc -l < calls > "$CORRAL_SCORE_FILE"'], on_exit: discard, on_timeout: discard, on_out_of_memory: discard, on_broken: discard }
pool: { min_ready: 4, max: 4 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
});
afterAll(() => corral.stop());

const work = { sleepMs: 0, outputBytes: 0, mischief: null } as const;

const script = (rollout: string, calls: number, sleepMs = 0): Script => ({
  rollout,
  item: { id: 'task' },
  steps: Array.from({ length: calls }, () => ({ thinkMs: 0, calls: [{ ...work, sleepMs }] })),
  cancelled: false,
  client: { timeoutMs: 30_000, jitter: true, freshIds: false },
});

test('rewards 1, 3, 2 and a killed sandbox: the trainer’s mean is 2.0, and 1.5 with its veto switched off', async () => {
  const http = openHttp();
  const { gatewayUrl, apiKey } = corral.fleet;
  const job = trainingJob({ gatewayUrl, apiKey, run: 'development', environment: 'shell', tools: ['shell'] });
  const world = {
    jobs: [job] as const,
    post: http.post,
    clock: systemClock,
    random: systemRandom,
    startMs: systemClock.monotonicMs(),
    stopping: new AbortController().signal,
    onCalling: () => undefined,
  };
  const group = [script('one', 1), script('three', 3), script('two', 2), script('killed', 2, 60_000)];
  const playing = Promise.all(group.map((each) => playRollout(each, world)));
  const viewed = async () => (await corral.native.get('/v1/rollouts/killed')).body;
  await expect.poll(viewed, { timeout: 15_000 }).toMatchObject({ in_flight: 1 });
  await corral.killSandboxOf('killed');
  const truths = await playing;
  await http.close();
  expect(truths.map(({ ending }) => ending)).toMatchObject([
    { kind: 'scored', score: 1 },
    { kind: 'scored', score: 3 },
    { kind: 'scored', score: 2 },
    { kind: 'discarded', code: 'sandbox_lost' },
  ]);
  expect(groupMeans(truths, 'with')).toMatchObject([{ mean: 2, n: 3 }]);
  expect(groupMeans(truths, 'without')).toMatchObject([{ mean: 1.5, n: 4 }]);
});
