import type { Environment } from '../model/environment.ts';
import type { Clock } from '../ports/clock.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';
import { labelText, type RolloutLabel } from '../protocol/rollout/label.ts';
import { protocolVersion } from '../protocol/sandboxd/wire.ts';
import { pauseMs } from '../waiting/patience.ts';
import { Deadline } from '../waiting/deadline.ts';
import { targetOf } from './target.ts';
import type { Wakes } from './wakes.ts';

export type BindDeps = {
  readonly link: Pick<SandboxLink, 'bind'>;
  readonly clock: Clock;
  readonly wakes: Wakes;
};

/**
 * How long a granted sandbox may refuse connections before it is given up for another, however little time is left to the
 * request that began it: others join it, and a sandbox that was cut off in the middle would be wasted.
 */
const bindPatienceMs = 10_000;

/**
 * Binds a granted sandbox to its rollout. A bind that timed out may have landed: it is sent again, and the same owner
 * is accepted again. A wake-up of the rollout between two tries that fail says that the sandbox is gone, most likely,
 * so the next failure is the last. Returns which of the `programs` are not there. Throws what the link throws.
 */
export async function bindSandbox(
  { link, clock, wakes }: BindDeps,
  rollout: RolloutRecord,
  environment: Environment,
  programs: readonly string[],
): Promise<readonly string[]> {
  const target = targetOf(rollout);
  const request = { ...bindRequest(rollout, environment), programs };
  const deadline = Deadline.in(clock, bindPatienceMs);
  const woken = new AbortController();
  const stopListening = wakes.on(rollout.key, () => woken.abort());
  try {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const signal = AbortSignal.timeout(Math.max(1, deadline.remainingMs));
        const { missing = [] } = await link.bind(target, request, signal);
        return missing;
      } catch (thrown) {
        const isLast = woken.signal.aborted || deadline.remainingMs <= pauseMs(attempt);
        if (isLast || !mayPass(thrown)) throw thrown;
        await clock.sleep(pauseMs(attempt), woken.signal);
      }
    }
  } finally {
    stopListening();
  }
}

function mayPass(thrown: unknown): boolean {
  return (
    thrown instanceof LinkError &&
    (thrown.trouble.kind === 'not_sent' || thrown.trouble.kind === 'maybe_sent')
  );
}

function bindRequest(rollout: RolloutRecord, environment: Environment) {
  const label = labelText(labelOf(rollout, environment));
  const expiresInMs = environment.limits.hardLifeMs;
  return { protocol: protocolVersion, owner: rollout.owner, expiresInMs, label };
}

/** What the sandbox will tell of its rollout when nobody else knows it any more. */
function labelOf(rollout: RolloutRecord, { limits }: Environment): RolloutLabel {
  const { face, environment, version, template, itemKey, wave, generation, tags, hadRow } = rollout;
  const { idleMs, hardLifeMs } = limits;
  const label = {
    face,
    environment,
    version,
    template,
    itemKey,
    wave,
    generation,
    idleMs,
    hardLifeMs,
    hadRow,
  };
  const isTagged = tags.step !== null || tags.labels.length > 0;
  return isTagged ? { ...label, tags: { step: tags.step, labels: [...tags.labels] } } : label;
}
