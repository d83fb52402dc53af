import type { LossCause } from '../../failure/codes.ts';
import { Failure } from '../../failure/failure.ts';
import type { Evidence } from '../../failure/failure.ts';
import type { CallId } from '../../model/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import { LinkError } from '../../ports/sandbox-link.ts';
import type { SandboxLink, SandboxTarget } from '../../ports/sandbox-link.ts';
import type { CallAnswer } from '../../protocol/sandboxd/wire.ts';
import { Deadline } from '../../waiting/deadline.ts';
import { pauseMs } from '../../waiting/patience.ts';
import { wasConfirmed } from '../exchange.ts';
import { nextStep, undisturbed } from '../next-step.ts';

/** What a sandbox's journal says of a call. `silent`: nobody answered in time. */
export type JournalWord =
  | { readonly kind: 'answered'; readonly answer: CallAnswer }
  | { readonly kind: 'running' | 'absent' | 'confirmed' }
  | {
      readonly kind: 'lost';
      readonly cause: LossCause;
      readonly evidence: Evidence;
    }
  | { readonly kind: 'silent'; readonly tries: number; readonly detail: string };

export type AskJournalTools = {
  readonly link: Pick<SandboxLink, 'attach'>;
  readonly clock: Clock;
};

/** As long as a sandbox may refuse connections anywhere else before that counts. */
const patienceMs = 10_000;
/** It only looks; a daemon on a busy machine takes longer than its millisecond. */
const answerMs = 3_000;

/**
 * Asks without waiting for the call. Throws `unclassified` when sandboxd breaks the protocol, and
 * `sandboxd_unreachable` when it refuses us: that says nothing of the call.
 */
export async function askJournal(
  { link, clock }: AskJournalTools,
  target: SandboxTarget,
  call: CallId,
): Promise<JournalWord> {
  const deadline = Deadline.in(clock, patienceMs);
  for (let tries = 1; ; tries += 1) {
    try {
      const answer = undisturbed(await link.attach(target, call, 0, AbortSignal.timeout(answerMs)));
      return answer === 'running' ? { kind: 'running' } : { kind: 'answered', answer };
    } catch (thrown) {
      if (!(thrown instanceof LinkError)) throw thrown;
      const word = wordIn(thrown);
      if (word !== null) return word;
      if (deadline.passed) return { kind: 'silent', tries, detail: thrown.message };
    }
    await clock.sleep(Math.min(pauseMs(tries), deadline.remainingMs));
  }
}

/** Null: nothing was said; another try may hear something. */
function wordIn(error: LinkError): JournalWord | null {
  if (wasConfirmed(error)) return { kind: 'confirmed' };
  if (error.trouble.kind === 'refused' && error.trouble.code === 'unauthorized')
    throw new Failure('sandboxd_unreachable', `the sandbox refuses us: ${error.message}`);
  const step = nextStep(error.trouble);
  switch (step.kind) {
    case 'again':
      return null;
    case 'absent':
      return { kind: 'absent' };
    case 'lose':
      return { kind: 'lost', cause: step.cause, evidence: { detail: error.message, ...step.evidence } };
    case 'conflict':
      throw new Failure('unclassified', 'sandboxd names a conflict where nothing was sent');
    case 'fail':
      throw new Failure('unclassified', step.reason, { admitted: 'unknown' });
  }
}
