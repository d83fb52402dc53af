import { callId, isIdText } from '../model/ids.ts';
import type { CallStore } from '../ports/fleet/calls.ts';
import type { SandboxLink, SandboxTarget } from '../ports/sandbox-link.ts';

export type TellSettledDeps = {
  readonly calls: Pick<CallStore, 'lookup'>;
  readonly link: Pick<SandboxLink, 'settled' | 'onUnsettled'>;
  readonly onTrouble: (error: unknown) => void;
};

/**
 * A gateway that settles a call tells the sandbox with its next request there. If it dies, or other gateways send what comes next, the
 * sandbox keeps the answer, and when it needs the room, it asks with any of its answers. Fleet state knows which calls are settled.
 */
export function answerUnsettled(deps: TellSettledDeps): void {
  deps.link.onUnsettled((target, calls) => void tell(deps, target, calls).catch(deps.onTrouble));
}

async function tell(
  { calls, link }: TellSettledDeps,
  target: SandboxTarget,
  asked: readonly string[],
): Promise<void> {
  const { owner } = target;
  if (owner === undefined) return;
  for (const call of asked.filter(isIdText).map(callId)) {
    const known = await calls.lookup(owner, call);
    const kind = known?.repeated?.kind;
    if (kind === 'in_journal' || kind === 'ran_nothing') link.settled(target, [call]);
  }
}
