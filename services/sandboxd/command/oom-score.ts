import { readFileSync, writeFileSync } from 'node:fs';
import type { ProcessRole } from '../users.ts';

/**
 * Out of memory, the kernel shall take a command before sandboxd, and what the policy runs before the grader that runs
 * it, or who answers its queries: half and a quarter of the scale that ends at 1000.
 */
const penalties = { policy: 500, grader: 250, queries: 250 } as const satisfies Record<ProcessRole, number>;
const highestScore = 1000;
const scoreFile = '/proc/self/oom_score_adj';

/**
 * Runs `fork` while our own out-of-memory score is raised, so that the child inherits the higher one. The score of a
 * process with another user id could not be written afterwards without more privileges than sandboxd has; going back to
 * the score that we started with needs none. Where /proc does not allow it, the child keeps our score.
 */
export function sheltered<Child>(user: ProcessRole, fork: () => Child): Child {
  const ownScore = raise(penalties[user]);
  try {
    return fork();
  } finally {
    if (ownScore !== null) write(ownScore);
  }
}

function raise(penalty: number): number | null {
  try {
    const ownScore = Number(readFileSync(scoreFile, 'latin1'));
    return write(Math.min(ownScore + penalty, highestScore)) ? ownScore : null;
  } catch {
    return null;
  }
}

function write(score: number): boolean {
  try {
    writeFileSync(scoreFile, String(score));
    return true;
  } catch {
    return false;
  }
}
