import type { Environment } from '../model/environment.ts';
import { graderLeaves } from '../model/grader-leaves.ts';
import { longestGradeMs } from '../model/grading-time.ts';
import { maxPauseFactor } from '../protocol/sandboxd/wire.ts';

/**
 * For how long the clock of a command grader may pause while the machine starves its sandbox. All of these together
 * take half of what `limits.grade` leaves, because a grading that is still under way at its end is discarded. The other half is
 * for waiting, for a sandbox of the grader's above all.
 */
export function maxPauseMs(
  environment: Pick<Environment, 'grader' | 'graderTemplate' | 'demands' | 'limits'>,
  { timeoutMs }: { readonly timeoutMs: number },
): number {
  const spareMs = environment.limits.gradeMs - longestGradeMs(environment);
  const commands = graderLeaves(environment.grader).filter(({ kind }) => kind === 'command').length;
  return Math.max(0, Math.min(Math.floor(spareMs / 2 / commands), maxPauseFactor * timeoutMs));
}
