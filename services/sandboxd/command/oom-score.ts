import { readFileSync, writeFileSync } from 'node:fs';

/** Out of memory, the kernel shall take a command before sandboxd: half of the scale that ends at 1000. */
const commandPenalty = 500;
const highestScore = 1000;
const scoreFile = '/proc/self/oom_score_adj';

/**
 * Runs `fork` while our own out-of-memory score is raised, so that the child inherits the higher one. The score of a
 * process with another user id could not be written afterwards without more privileges than sandboxd has; going back to
 * the score that we started with needs none. Where /proc does not allow it, the child keeps our score.
 */
export function sheltered<Child>(fork: () => Child): Child {
  const ownScore = raise();
  try {
    return fork();
  } finally {
    if (ownScore !== null) write(ownScore);
  }
}

function raise(): number | null {
  try {
    const ownScore = Number(readFileSync(scoreFile, 'latin1'));
    return write(Math.min(ownScore + commandPenalty, highestScore)) ? ownScore : null;
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
