import type { OnBad } from '../../model/grader.ts';
import type { CommandGrade, Evaluation, Leaf } from './evaluation.ts';

type CommandLeaf = Leaf<'command'>;

/**
 * The score a grading command gave, or what the environment says its bad ending is worth. The policy shared a sandbox
 * with the command and may have broken it to escape a low score, so each such use is marked.
 */
export function gradeByCommand(leaf: CommandLeaf, grade: CommandGrade): Evaluation {
  if (grade.kind === 'scored') {
    const detail = { kind: 'command', score: grade.score };
    return { kind: 'scored', score: grade.score, detail, suspected: null };
  }
  const worth = worthOf(leaf, grade.how);
  if (worth === 'discard') return { kind: 'discarded', suspected: 'command', reason: grade.reason };
  const detail = { kind: 'command', score: worth, ended: grade.how, reason: grade.reason };
  return { kind: 'scored', score: worth, detail, suspected: 'command' };
}

function worthOf(leaf: CommandLeaf, how: Extract<CommandGrade, { kind: 'bad' }>['how']): OnBad {
  switch (how) {
    case 'exit':
      return leaf.onExit;
    case 'timeout':
      return leaf.onTimeout;
    case 'out_of_memory':
      return leaf.onOutOfMemory;
    case 'broken':
      return leaf.onBroken;
  }
}
