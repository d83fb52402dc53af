import type { FailureCode } from './codes.ts';

/** What the trainer may do with a rollout. `discard` names the one code that decided, and the cause where known. */
export type Verdict =
  | { readonly kind: 'scorable' }
  | { readonly kind: 'discard'; readonly code: FailureCode; readonly cause?: string };
