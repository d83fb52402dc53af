import { expect, it } from 'vitest';
import { Board } from './board.ts';

const rollouts = ['a', 'b', 'c'].map((rollout) => ({ rollout, task: rollout === 'c' ? 'second' : 'first' }));

it('shows a line for each task with a mark for each copy', () => {
  const board = new Board(rollouts);
  board.hear({ rollout: 'a', task: 'first', kind: 'call answered' });
  board.hear({ rollout: 'a', task: 'first', kind: 'scored' });
  board.hear({ rollout: 'c', task: 'second', kind: 'discarded' });
  expect(board.block(1500, 1)).toEqual([
    '  first   █ ·',
    '  second  ✕',
    '',
    '    1.5 s  · 1 waiting   ▪ 0 working   ◆ 0 grading   █ 1 scored   ✕ 1 discarded   calls 1   killed 1',
  ]);
});

it('counts a rollout as waiting until its first call is answered', () => {
  const board = new Board(rollouts);
  board.hear({ rollout: 'a', task: 'first', kind: 'call sent' });
  expect(board.summary(0, 0)).toContain('3 waiting');
  board.hear({ rollout: 'a', task: 'first', kind: 'call answered' });
  expect(board.summary(0, 0)).toContain('2 waiting   ▪ 1 working');
});
