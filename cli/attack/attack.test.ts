import { expect, test } from 'vitest';
import { judgeAttack, type Try } from './attack.ts';

const words = { hole: 'it is open', fix: 'close it' };
const lost = { at: 'the grader', code: 'grader_failed', blame: 'infrastructure', message: 'no number' };

const paid = (score: number, nothing = 0): Try => ({ score, bound: nothing + 0.05 });
const gone: Try = { lost, bound: 0.05 };

test.each<[string, readonly Try[], object]>([
  ['is withstood where each try gets what nothing gets', [paid(0), paid(0)], { state: 'withstood', got: 0 }],
  [
    'is withstood up to a step above nothing',
    [paid(0.05), paid(0.25, 0.2)],
    { state: 'withstood', got: 0.25 },
  ],
  [
    'that one try of three was paid for is a hole, with what to do',
    [paid(0), paid(1), paid(0)],
    { state: 'hole', got: 1, detail: 'it is open (1 of 3); to do: close it' },
  ],
  ['is compared with what nothing gets on its own row', [paid(0.3, 0.2), paid(0.3, 0.3)], { state: 'hole' }],
  [
    'whose every try has no score is a hole: who is discarded escapes',
    [gone, gone],
    {
      state: 'hole',
      got: null,
      detail: expect.stringContaining('escapes a low score: the grader: no number'),
    },
  ],
  [
    'of which one try was lost proves nothing, and is never told as withstood',
    [paid(0), gone],
    { state: 'lost', got: 0, detail: expect.stringContaining('(grader_failed, blame: infrastructure)') },
  ],
  ['that was paid is a hole whatever became of the other tries', [gone, paid(1)], { state: 'hole', got: 1 }],
  ['that cannot be played is told so', [], { state: 'not possible', got: null }],
])('an attack %s', (_what, tries, judged) => {
  expect(judgeAttack(tries, words)).toMatchObject(judged);
});
