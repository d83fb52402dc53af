import { failureRow } from '../failure/codes.ts';
import type { FailureCode, Retry } from '../failure/codes.ts';
import type { RolloutStory } from './rollout-story.ts';

/** What a trainer was, or is, told by each face. */
export type Told = {
  readonly to: string;
  readonly code: FailureCode;
  readonly rft: number;
  readonly native: number;
  /** Whether the same request may be sent again. */
  readonly retry: Retry;
};

/**
 * What a discarded rollout answers: first the requests that the failure itself cut off, then everything that comes
 * later. All of it follows from the one code, which is why nobody has to write it down.
 */
export function toldOf({ calls }: RolloutStory, code: FailureCode): readonly Told[] {
  const cutOff = calls.filter(({ outcome }) => outcome === 'infrastructure_failure');
  return [...cutOff.map(({ callId }) => told(`call ${callId}`, code)), told(everyLater(code), code)];
}

function everyLater(code: FailureCode): string {
  return code === 'grader_failed' || code === 'rollout_unknown'
    ? 'every grade'
    : 'every later call and grade';
}

function told(to: string, code: FailureCode): Told {
  const { rft, native, retry } = failureRow(code);
  return { to, code, rft, native, retry };
}
