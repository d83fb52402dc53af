import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '#test/support/fleet.ts';

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: shellEnvironment } });
});
afterAll(() => corral.stop());

const item = { id: 'task-1', answer: '42' };
const mean = (rewards: readonly number[]) => rewards.reduce((sum, each) => sum + each, 0) / rewards.length;

/**
 * A harness as many are written: whatever fails in a rollout is one reward, "so that the run is recorded". Nobody looks at
 * why until the curve is drawn, and there a −1 is in the way.
 */
async function harness(trace: string): Promise<number> {
  try {
    for (const call of ['c1', 'c2']) {
      const answer = await corral.rft.call({
        trace,
        call,
        command: call === 'c2' ? 'sleep 1' : 'true',
        item,
      });
      if (answer.status !== 200) throw new Error(`tool call failed with ${answer.status}`);
      if (call === 'c1' && trace === 'lost') await corral.killSandboxOf(trace);
    }
    const named = ['c1', 'c2'].map((id) => ({ id }));
    const graded = await corral.rft.grade({
      trace,
      item,
      sample: { output_text: '42', output_tools: named },
    });
    return (graded.body as { readonly score: number }).score;
  } catch {
    return -1;
  }
}

const plotted = (rewards: readonly number[]) => rewards.map((reward) => (reward === -1 ? 0 : reward));

test('five right rollouts, one sandbox lost: a harness of −1 plotted as 0 draws 0.8, the fleet’s own report says 1.0 of four', async () => {
  const rewards = await Promise.all(['first', 'second', 'third', 'fourth', 'lost'].map(harness));
  expect(rewards).toEqual([1, 1, 1, 1, -1]);
  expect(mean(plotted(rewards))).toBeCloseTo(0.8);

  const report = await corral.native.get('/v1/runs/development');
  expect(report.body).toMatchObject({
    rollouts: 5,
    scored: 4,
    discarded: 1,
    blame: { infrastructure: 1 },
    groups: [{ n: 5, scored: 4, mean: 1 }],
  });
});

test('the grader of the lost rollout is a veto: no score leaves, however often and with whatever answer it is asked', async () => {
  for (const output_text of ['42', 'no']) {
    const graded = await corral.rft.grade({ trace: 'lost', item, sample: { output_text, output_tools: [] } });
    expect(graded).toMatchObject({ status: 503, body: { error: { code: 'sandbox_lost' } } });
    expect(graded.body).not.toHaveProperty('score');
  }
});
