import { expect, test } from 'vitest';
import type { Shown } from '#cli/preflight/task/play-control.ts';
import { formatTable, judge, type Row } from './table.ts';

const shown = (reward: number | null, state: Shown['state'] = 'passed'): Shown => ({
  state,
  detail: `reward ${reward}`,
  reward: reward === null ? null : { reward },
  verifierTookMs: 1,
});
const both = (solution: Shown, nop = shown(0)) => ({ solution, nop });
const row = (inContainer: Shown, inSandbox: Shown, nop = shown(0)): Row => ({
  name: 'a-task',
  inContainer: both(inContainer),
  inSandbox: both(inSandbox, nop),
});

test.each([
  ['equal rewards pass', row(shown(1), shown(1)), 'passed'],
  ['a lower reward fails', row(shown(1), shown(0, 'failed')), 'failed'],
  ['a missing reward fails', row(shown(1), shown(null, 'failed')), 'failed'],
  ['a solution that runs out of time fails', row(shown(1), shown(null, 'lost')), 'failed'],
  ['a reward for doing nothing fails', row(shown(1), shown(1), shown(1)), 'failed'],
  [
    'a solution that fails in the container is no comparison',
    row(shown(0, 'failed'), shown(1)),
    'not compared',
  ],
  [
    'a solution without a reward where the container leaves one fails',
    row(shown(0, 'failed'), shown(null, 'failed')),
    'failed',
  ],
  ['a refused task is no comparison', { name: 'a-task', reason: 'services' }, 'not compared'],
] as const)('%s', (_, given, verdict) => expect(judge(given)).toBe(verdict));

test('the table ends with the counts, and says why a task failed', () => {
  const printed = formatTable([row(shown(1), shown(1)), row(shown(1), shown(0, 'failed'))]);
  expect(printed).toContain('a-task in Corral: reward 0');
  expect(printed).toMatch(/\n1 passed, 1 failed$/);
});

test('the table says what Corral showed of a task whose solution fails in the container', () => {
  const refused = { ...shown(null, 'failed'), detail: 'the gateway refuses it' };
  const printed = formatTable([{ ...row(shown(0, 'failed'), refused), inSandbox: both(refused, refused) }]);
  expect(printed).toContain('a-task in the container: reward 0');
  expect(printed).toContain('a-task in Corral: the gateway refuses it');
  expect(printed).toContain('a-task in Corral, nop: the gateway refuses it');
});
