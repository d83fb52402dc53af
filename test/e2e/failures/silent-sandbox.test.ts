import { afterAll, beforeAll, expect, test } from 'vitest';
import { sandboxdOf } from '#loadtest/fleet/sandbox-of.ts';
import { eventually } from '#test/support/eventually.ts';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { impatient } from '#test/support/timings.ts';

const environment = `
name: shell
sandbox: { image: host, disk: 64Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 3s } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 2, max: 8 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({
    environments: { shell: environment },
    timings: { ...impatient, answerGraceMs: 5_000 },
  });
});
afterAll(() => corral.stop());

/** Its daemon stands still, as on a node that does nothing but swap: nobody says that it is gone, and nobody can ask it. */
async function freeze(rollout: string): Promise<number> {
  const pid = await sandboxdOf(await corral.sandboxOf(rollout));
  if (pid === null) throw new Error(`the daemon of ${rollout} has ended`);
  process.kill(pid, 'SIGSTOP');
  return pid;
}

test.concurrent('nobody could be asked whether a call ran, until its time was over: 503, tainted, also for the grade', async () => {
  const call = { trace: 'asked', call: 'c1', command: 'sleep 2' };
  const held = corral.rft.call(call);
  await eventually(async () => (await corral.native.get('/v1/rollouts/asked')).body, { in_flight: 1 });
  await freeze('asked');
  const unknown = {
    status: 503,
    code: 'outcome_unknown',
    blame: 'infrastructure',
    admitted: 'unknown',
    retryable: false,
    tainted: true,
    rollout_id: 'asked',
  } as const;
  expectFailure(await held, { ...unknown, call_id: 'c1' });
  expectFailure(await corral.rft.call(call), unknown);
  expectFailure(await corral.rft.grade({ trace: 'asked' }), { ...unknown, admitted: 'no' });
});

test.concurrent('a sandbox that is silent when it is to be graded: 503, nothing is decided, and the repeat is scored', async () => {
  await corral.native.open('graded');
  expect(await corral.native.shell('graded', 'c1', 'true')).toMatchObject({ status: 200 });
  const pid = await freeze('graded');
  const sample = { sample: { output_text: '42' } };
  const grade = await corral.native.post('/v1/rollouts/graded/grade?wait_s=2', sample);
  expectFailure(grade, {
    ...toldNothingRan,
    code: 'sandboxd_unreachable',
    rollout_id: 'graded',
  });
  process.kill(pid, 'SIGCONT');
  const again = await corral.native.post('/v1/rollouts/graded/grade', sample);
  expect(again).toMatchObject({ status: 200, body: { score: 1 } });
});
