import type { Execution } from '../sandbox/truth.ts';
import { isSetup } from '../trainer/plan.ts';
import type { Request } from '../trainer/ledger.ts';
import type { World } from '../world.ts';
import { expectedOutput } from './attributed.ts';
import type { Invariant } from './inspector.ts';
import { ownerKey } from './owner-key.ts';

/**
 * A policy acts, and is graded, where all of its set-up has run with the ends that its trainer received. What a Redis that was replaced has
 * forgotten is not replayed; that a call runs once, and a score is of one life, is asked elsewhere.
 */
export const setUpFirst: Readonly<Record<string, Invariant>> = {
  'a policy acts where its set-up is': (world) => {
    if (world.redis.replacedMs.length > 0) return null;
    for (const { run, name } of world.planned) {
      const owner = ownerKey(run, name);
      const acts = world.truth.executionsOf(owner).filter(({ call }) => !isSetup(call) && !isOwn(call));
      for (const act of acts) {
        const wrong = lacks(world, name, owner, act);
        if (wrong !== null) return `${act.call} ran in ${act.sandbox}, and ${wrong}`;
      }
    }
    return null;
  },

  'a rollout is graded where its set-up is': (world) => {
    if (world.redis.replacedMs.length > 0) return null;
    for (const { rollout, told, toldMs } of world.ledger.requests) {
      if (told?.kind !== 'score') continue;
      const owner = ownerKey(rollout.run, rollout.name);
      const last = world.truth.executionsOf(owner).findLast(({ startedMs }) => startedMs <= toldMs);
      const wrong =
        last === undefined ? null : lacks(world, rollout.name, owner, { ...last, startedMs: toldMs });
      if (wrong !== null) return `${rollout.name} was graded in ${last?.sandbox}, and ${wrong}`;
    }
    return null;
  },

  'a set-up mark that comes after the policy is refused': ({ ledger, redis }) => {
    const taken = ledger.requests.find(({ late, told }) => late && told?.kind === 'answer');
    if (taken === undefined || redis.replacedMs.length > 0) return null;
    return `${taken.rollout.name} ${taken.call} was answered: ${JSON.stringify(taken.told)}`;
  },
};

const isOwn = (call: string): boolean => call.includes(' ');

/** What of the set-up that was answered before `act` its life lacks; null: nothing. */
function lacks(world: World, name: string, owner: string, act: Execution): string | null {
  const there = world.truth
    .executionsOf(owner)
    .filter(
      ({ sandbox, boot, startedMs }) =>
        sandbox === act.sandbox && boot === act.boot && startedMs <= act.startedMs,
    );
  const told = world.ledger.of(name).filter((request) => isTold(request, act));
  const missing = told.find(
    (request) => !isWritten(world, request, act) && !there.some((one) => isEndOf(request, one)),
  );
  return missing === undefined
    ? null
    : `${missing.call} had been answered, and has not run there with that end`;
}

function isWritten(
  { truth }: World,
  { planned, call }: Request,
  { sandbox, boot, startedMs }: Execution,
): boolean {
  return truth.uploads.some(
    (one) =>
      one.sandbox === sandbox &&
      one.boot === boot &&
      one.atMs <= startedMs &&
      one.path === call &&
      one.text === planned?.command.token,
  );
}

const isTold = ({ call, told, toldMs, late }: Request, act: Execution): boolean =>
  isSetup(call) && !late && told?.kind === 'answer' && toldMs < act.startedMs;

function isEndOf({ call, told }: Request, { call: ran, token, ending }: Execution): boolean {
  return (
    call === ran &&
    ending !== null &&
    told?.kind === 'answer' &&
    told.output === expectedOutput(token, ending)
  );
}
