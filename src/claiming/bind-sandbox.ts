import type { Environment } from '../model/environment.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { SandboxLink } from '../ports/sandbox-link.ts';
import { labelText } from '../protocol/rollout/label.ts';
import { type BindReply, protocolVersion } from '../protocol/sandboxd/wire.ts';
import { type Attempt, type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { targetOf } from './target.ts';
import type { Wakes } from './wakes.ts';

export type BindDeps = RetryDeps & {
  readonly link: Pick<SandboxLink, 'bind'>;
  readonly wakes: Wakes;
};

/**
 * Binds a granted sandbox to its rollout. A bind that timed out may have been accepted: it is sent again, and the same owner
 * is accepted again. A wake-up of the rollout between two tries that fail says that the sandbox is gone, most likely,
 * so the next failure is the last. Returns which of the `programs` are not there. Throws what the link throws.
 */
export async function bindSandbox(
  deps: BindDeps,
  rollout: RolloutRecord,
  environment: Environment,
  programs: readonly string[],
): Promise<readonly string[]> {
  const target = targetOf(rollout);
  const request = { ...bindRequest(rollout, environment), programs };
  const woken = new AbortController();
  const stopListening = deps.wakes.on(rollout.key, () => woken.abort());
  const bind: Attempt<BindReply> = ({ remainingMs }) =>
    deps.link.bind(target, request, AbortSignal.timeout(Math.max(1, remainingMs)));
  try {
    const { missing = [] } = await retrying(deps, retryPolicies.bind, bind, { hurry: woken.signal });
    return missing;
  } finally {
    stopListening();
  }
}

/** With what the sandbox will tell of its rollout when nobody else knows it any more. */
function bindRequest(rollout: RolloutRecord, { limits: { idleMs, hardLifeMs } }: Environment) {
  const label = labelText({ ...rollout, idleMs, hardLifeMs });
  return { protocol: protocolVersion, owner: rollout.owner, expiresInMs: hardLifeMs, label };
}
