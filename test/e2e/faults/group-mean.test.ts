import { afterAll, beforeAll, expect, test } from 'vitest';
import { groupMeans } from '#loadtest/trainer/verdict.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { playAll, scriptOf } from '#test/support/trainer.ts';

/** A rollout's reward is the number of its calls. */
const environment = `
name: shell
sandbox: { image: host, disk: 64Mi }
tools: { shell: { builtin: shell } }
grader: { kind: command, command: [sh, -c, 'as-policy sh -c "wc -l < calls" > "$CORRAL_SCORE_FILE"'], on_exit: discard, on_timeout: discard, on_out_of_memory: discard, on_broken: discard }
pool: { min_ready: 4, max: 4 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
});
afterAll(() => corral.stop());

test('rewards 1, 3, 2 and a killed sandbox: the trainer’s mean is 2.0, and 1.5 with its veto switched off', async () => {
  const { gatewayUrl, apiKey } = corral.fleet;
  const group = [scriptOf('one', 1), scriptOf('three', 3), scriptOf('two', 2), scriptOf('killed', 2, 60_000)];
  const playing = playAll([gatewayUrl], apiKey, group);
  const viewed = async () => (await corral.native.get('/v1/rollouts/killed')).body;
  await expect.poll(viewed, { timeout: 60_000 }).toMatchObject({ in_flight: 1 });
  await corral.killSandboxOf('killed');
  const truths = await playing;
  expect(truths.map(({ ending }) => ending)).toMatchObject([
    { kind: 'scored', score: 1 },
    { kind: 'scored', score: 3 },
    { kind: 'scored', score: 2 },
    { kind: 'discarded', code: 'sandbox_lost' },
  ]);
  expect(groupMeans(truths, 'with')).toMatchObject([{ mean: 2, n: 3 }]);
  expect(groupMeans(truths, 'without')).toMatchObject([{ mean: 1.5, n: 4 }]);
});
