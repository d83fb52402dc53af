import { hasIdsApart } from '../claiming/target.ts';
import type { LossCause } from '../failure/codes.ts';
import type { Evidence } from '../failure/failure.ts';
import { saidBySandbox } from '../failure/witness.ts';
import type { LinkTrouble } from '../ports/sandbox-link.ts';

/**
 * What to do when sandboxd gave no answer to a dispatched call:
 *
 *   again   nothing is decided: send the same PUT on a new connection; the journal starts it once or attaches
 *   lose    the sandbox we meant is known to be gone; the evidence names the life that answers now, where one does
 *   conflict, absent   the journal has the id with other arguments, or does not have it at all
 *   fail    sandboxd answered, and not as the protocol says: nobody's reward, and a bug to fix
 */
export type NextStep =
  | { readonly kind: 'again'; readonly reached: boolean }
  | { readonly kind: 'lose'; readonly cause: LossCause; readonly evidence: Evidence }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'fail'; readonly reason: string };

export function nextStep(trouble: LinkTrouble): NextStep {
  switch (trouble.kind) {
    case 'not_sent':
      return { kind: 'again', reached: false };
    case 'maybe_sent':
      return { kind: 'again', reached: true };
    case 'other_boot':
      return { kind: 'lose', cause: 'boot_changed', evidence: answeredNow(trouble.boot) };
    case 'other_sandbox':
      return { kind: 'lose', cause: 'pod_replaced', evidence: saidBySandbox };
    case 'struck':
      return { kind: 'lose', cause: trouble.cause, evidence: trouble.evidence };
    case 'refused':
      return afterRefusal(trouble);
  }
}

/**
 * Of a call that was sent. If commands may have sandboxd's id, the policy may answer in its place: an answer that makes no sense then
 * counts as none, and the outcome of the call is unknown, which is marked. It would be our failure, or the caller's, in an unmarked one.
 */
export function believedStep(
  trouble: LinkTrouble,
  rollout: Parameters<typeof hasIdsApart>[0],
  asked: 'sent' | 'looked for',
): NextStep {
  const step = nextStep(trouble);
  const isLost = step.kind === 'absent' && asked === 'sent';
  const makesNoSense = step.kind === 'fail' || step.kind === 'conflict' || isLost;
  return makesNoSense && !hasIdsApart(rollout) ? { kind: 'again', reached: true } : step;
}

const answeredNow = (boot: string | null): Evidence => (boot === null ? {} : { boot_after: boot });

function afterRefusal(refused: Extract<LinkTrouble, { kind: 'refused' }>): NextStep {
  if (refused.code === 'call_conflict') return { kind: 'conflict' };
  if (refused.code === 'unknown_call') return { kind: 'absent' };
  // A Redis that had forgotten took its rollout for begun there, and nobody ever lived in it: what began is elsewhere, or nowhere.
  // So if another lives there.
  if (refused.code === 'not_bound' || refused.code === 'bound_elsewhere')
    return { kind: 'lose', cause: 'pod_replaced', evidence: saidBySandbox };
  if (refused.code === 'expired') return { kind: 'lose', cause: 'expired', evidence: saidBySandbox };
  // It is settled, so how it ended is in fleet state: the next look there finds it.
  if (refused.code === 'answer_confirmed') return { kind: 'again', reached: true };
  // Nothing ran; there is room again when others have ended.
  if (refused.code === 'journal_full') return { kind: 'again', reached: false };
  // It is not gone: our own key is wrong, and whoever has the right one may be asked next.
  if (refused.code === 'unauthorized') return { kind: 'again', reached: false };
  return {
    kind: 'fail',
    reason: `sandboxd refused with ${refused.status} ${refused.code}: ${refused.message}`,
  };
}
