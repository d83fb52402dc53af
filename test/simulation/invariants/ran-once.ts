import type { Execution } from '../sandbox/truth.ts';
import type { World } from '../world.ts';
import { ownerKey } from './owner-key.ts';
import type { Ledger, Request } from '../trainer/ledger.ts';
import { isSetup } from '../trainer/plan.ts';
import { withinMemory } from './within-memory.ts';
import { isOutputGone } from './answers-kept.ts';
import type { Invariant } from './inspector.ts';

/**
 * Invariant 3: a call id runs at most once per rollout, and a repeat gets what is recorded. The second run of an idempotent call has
 * an id of its own, which runs at most once as well.
 */
export const ranOnce: Readonly<Record<string, Invariant>> = {
  'a call runs at most once': ({ truth, redis }) => {
    const seen = new Map<string, Execution>();
    for (const execution of withinMemory(truth, redis)) {
      // A sandbox that is swapped away before the first dispatch has had its setup; so has the next.
      if (execution.call.startsWith('corral setup')) continue;
      const name = nameOf(execution);
      const first = seen.get(name);
      if (first !== undefined) return `${name} ran in ${first.sandbox} and again in ${execution.sandbox}`;
      seen.set(name, execution);
    }
    return null;
  },

  'a call that was cancelled before it began never runs': ({ ledger, truth, redis }) => {
    for (const { told, rollout, call } of ledger.requests) {
      // A Redis that has forgotten the cancel lets the call in.
      if (told?.kind !== 'cancelled' || told.began || redis.replacedMs.length > 0) continue;
      const ran = truth.executionsOf(ownerKey(rollout.run, rollout.name)).find((one) => one.call === call);
      if (ran !== undefined) return `${rollout.name} ${call} ran in ${ran.sandbox}`;
    }
    return null;
  },

  'a repeat gets the recorded answer': ({ ledger }) => {
    const first = new Map<string, string>();
    for (const { request, output } of answers(ledger)) {
      if (request.conflicting || isOutputGone(output)) continue;
      const name = `${request.rollout.name} ${request.call}`;
      const before = first.get(name);
      if (before !== undefined && before !== output) return `${name}: first "${before}", then "${output}"`;
      first.set(name, output);
    }
    return null;
  },

  'a repeat with other arguments is a conflict': (world) => {
    const answered = answers(world.ledger).find(
      ({ request }) => request.conflicting && !isForgotten(world, request),
    );
    if (answered === undefined) return null;
    return `${answered.request.call} with other arguments was answered with "${answered.output}"`;
  },
};

/** Set-up runs once in each sandbox, and what the policy does once in the rollout. */
function nameOf({ owner, call, sandbox, boot }: Execution): string {
  return isSetup(call) ? `${owner} ${call} in ${sandbox} ${boot}` : `${owner} ${call}`;
}

/** Redis has forgotten the first of the two, and so have all sandboxes: it had not run, or in one that is gone. */
function isForgotten({ truth, redis }: World, { rollout, planned, call, toldMs }: Request): boolean {
  if (!redis.replacedMs.some((atMs) => atMs < toldMs)) return false;
  const owner = ownerKey(rollout.run, rollout.name);
  const { token } = planned?.command ?? { token: '' };
  return !withinMemory(truth, redis).some(
    (one) => one.owner === owner && one.call === call && one.token === token,
  );
}

export function answers(ledger: Ledger): readonly { readonly request: Request; readonly output: string }[] {
  return ledger.requests.flatMap((request) =>
    request.told?.kind === 'answer' ? [{ request, output: request.told.output }] : [],
  );
}
