import { expect, test } from 'vitest';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet('failing-setup');

const failed = {
  ...toldNothingRan,
  code: 'setup_failed',
  evidence: { step: 1, seen: expect.stringContaining('exit code 3: the corpus is not here') },
} as const;

test('a setup that fails in one sandbox after another: 503 on both faces, with the step and its words', async () => {
  await corral.native.open('native');
  const [rft, native] = await Promise.all([
    corral.rft.call({ trace: 'rft', call: 'c1', command: 'echo hi' }),
    corral.native.shell('native', 'c1', 'echo hi'),
  ]);
  expectFailure(rft, { ...failed, rollout_id: 'rft', call_id: 'c1' });
  // A platform repeats what the RFT face answers within seconds, so it is not told that this is in vain.
  expectFailure(native, { ...failed, retryable: false, rollout_id: 'native', call_id: 'c1' });
});
