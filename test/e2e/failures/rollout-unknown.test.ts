import { test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

const unknown = {
  code: 'rollout_unknown',
  blame: 'infrastructure',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

test('the grader names calls that we never saw: 503 and no score', async () => {
  const sample = { output_text: '42', output_tools: [{ id: 'c1', type: 'function' }] };
  expectFailure(await corral.rft.grade({ trace: 'never', sample }), {
    ...unknown,
    status: 503,
    rollout_id: 'never',
    evidence: { calls_named: 1 },
  });
});

test('a rollout that nobody opened: 404 on the native face, whatever is asked of it', async () => {
  expectFailure(await corral.native.get('/v1/rollouts/never'), { ...unknown, status: 404 });
  expectFailure(await corral.native.shell('never', 'c1', 'echo hi'), { ...unknown, status: 404 });
  expectFailure(await corral.native.post('/v1/rollouts/never/grade', {}), { ...unknown, status: 404 });
});
