import { targetOf } from '../claiming/target.ts';
import { isOver } from '../model/rollout.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';
import type { ScreenReply } from '../protocol/sandboxd/wire.ts';

export type ScreenDeps = { readonly link: Pick<SandboxLink, 'screen'> };

/** Longer than a sandbox takes to say that its terminals do not answer. */
const withinMs = 30_000;

/**
 * What a terminal of a rollout shows, for an operator; null: the one that was opened last. It is no call, and whatever hinders it decides
 * nothing of the rollout: neither its lease nor its verdict nor the account of its calls changes.
 */
export async function showScreen(
  { link }: ScreenDeps,
  rollout: RolloutRecord,
  terminal: number | null,
): Promise<ScreenReply> {
  if (isOver(rollout.state)) return none('the rollout is over');
  if (rollout.epoch === null) return none(notYet);
  try {
    return await link.screen(targetOf(rollout), terminal, AbortSignal.timeout(withinMs));
  } catch (thrown) {
    if (!(thrown instanceof LinkError)) throw thrown;
    return none(reasonOf(thrown));
  }
}

const notYet = 'the rollout has no sandbox yet';

/** By the code of a refusal. A sandbox that waits for the first call is not bound. */
const reasons: Readonly<Record<string, string>> = {
  graded: 'the rollout is being graded',
  not_bound: notYet,
  not_found: 'this sandbox is of an older release',
};

const reasonOf = ({ trouble }: LinkError): string =>
  trouble.kind === 'refused'
    ? (reasons[trouble.code] ?? 'the sandbox refuses it')
    : 'the sandbox does not answer';

const none = (reason: string): ScreenReply => ({ screen: null, reason });
