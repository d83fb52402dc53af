import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/** No warm sandbox: setup would fail in each of them. */
const environment = `
name: shell
sandbox: { image: host, disk: 64Mi }
setup: [[sh, -c, 'echo "the corpus is not here" >&2; exit 3']]
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 4 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
});
afterAll(() => corral.stop());

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
  expectFailure(native, { ...failed, rollout_id: 'native', call_id: 'c1' });
});
