import { expect, test } from 'vitest';
import { describeMissing, describeOutputs } from './describe-outputs.ts';

const verifier = 'no answer.txt\n';
const output = `${'x'.repeat(5_000)}apt-get: Read-only file system\n`;

test('the output of a solution that failed stands before that of the verifier, and both are bounded', () => {
  const shown = describeOutputs({ verifier, solution: { exitCode: 100, output } });
  expect(shown).toMatch(
    /^The solution's command exited with 100, .*Read-only file system\n.*no answer\.txt$/,
  );
  expect(shown.length).toBeLessThan(800);
});

test('the output of a solution that ended well stands behind that of the verifier', () => {
  const shown = describeOutputs({ verifier, solution: { exitCode: 0, output } });
  expect(shown).toMatch(/no answer\.txt\n.*Read-only file system$/);
});

test('without a solution only the output of the verifier is shown', () => {
  expect(describeOutputs({ verifier: null, solution: null })).toBe(
    "The end of the verifier's output: (nothing)",
  );
});

test.each([
  [null, null, 'left no reward'],
  [null, 'not-a-number\n', 'left a reward that cannot be read: reward.txt begins with "not-a-number"'],
  [null, '', 'left a reward that cannot be read: reward.txt is empty'],
  ['[', '1', 'left a reward that cannot be read: reward.json begins with "["'],
])('a reward that cannot be read is not called missing: %j, %j', (json, text, left) => {
  expect(describeMissing(json, text)).toBe(left);
});
