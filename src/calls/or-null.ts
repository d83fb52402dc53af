import { asFailure } from '../failure/failure.ts';

/** Null where fleet state cannot be asked right now, which says nothing. Throws what a repeat would meet, too. */
export async function orNull<Answer>(ask: () => Promise<Answer | null>): Promise<Answer | null> {
  try {
    return await ask();
  } catch (thrown) {
    if (asFailure(thrown).retry === 'no') throw thrown;
    return null;
  }
}
