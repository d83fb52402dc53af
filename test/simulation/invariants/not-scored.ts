import { failureRow } from '#src/failure/codes.ts';
import type { Execution } from '../sandbox/truth.ts';
import type { World } from '../world.ts';
import { badFilesScore, brokenWords, refusedScore } from '../environment.ts';
import { judgedScore } from '../processes/judge.ts';
import type { Request, Told } from '../trainer/ledger.ts';
import type { Invariant } from './inspector.ts';
import { ownerKey } from './owner-key.ts';

/** Invariant 6 and the zeros: a rollout whose state was lost, or may have been, is never scored. */
const areGradedElsewhere: ReadonlySet<string> = new Set(['elsewhere', 'changed']);

export const notScored: Readonly<Record<string, Invariant>> = {
  'nothing follows a taint': ({ ledger, redis }) => {
    for (const request of ledger.requests) {
      if (!isTaint(request)) continue;
      const after = ledger
        .of(request.rollout.name)
        .find((other) => contradicts(other, request) && !begunAnew(redis, request, other));
      if (after !== undefined)
        return `${request.rollout.name} was tainted, then ${after.call}: ${JSON.stringify(after.told)}`;
    }
    return null;
  },

  'a call that nobody can have sent taints nothing': (world) => {
    if (mayHaveForgotten(world)) return null;
    for (const { told, rollout, call } of world.ledger.requests) {
      if (told?.kind !== 'failure' || told.code !== 'outcome_unknown') continue;
      const owner = ownerKey(rollout.run, rollout.name);
      const sandbox = world.redis.scripts.state.rollouts.get(owner)?.sandbox;
      if (sandbox != null && sandbox !== '' && !world.truth.mayHaveRun(sandbox))
        return `${rollout.name} ${call} was told so, and every connection to ${sandbox} was refused or answered`;
    }
    return null;
  },

  'a lost grader’s sandbox changes no score and discards no rollout': (world) => {
    if (mayHaveForgotten(world) || !world.faults.struck.has('grader lost')) return null;
    for (const request of world.ledger.requests) {
      if (
        !areGradedElsewhere.has(request.rollout.environment) ||
        request.asking !== 'grade' ||
        !isTaint(request)
      )
        continue;
      const ran = callsOf(world, request);
      const isWhole = ran.every(({ sandbox, boot, struck }) => {
        const life = world.truth.lifeOf(sandbox, boot);
        // Whoever takes it for lost has it removed before he tells.
        const wasThere = life === undefined || life.endedMs === null || life.removed;
        return wasThere && !struck && !world.truth.doubted.has(sandbox);
      });
      if (ran.length > 0 && isWhole)
        return `${request.rollout.name} was told ${JSON.stringify(request.told)}, and ${ran[0]?.sandbox} still stands, or did until it was removed`;
    }
    return null;
  },

  'a score is of the sandbox that ran the calls': (world) => {
    for (const request of world.ledger.requests) {
      if (request.told?.kind !== 'score') continue;
      const wrong = madeUp(world, request, request.told.score);
      if (wrong !== null) return `${request.rollout.name} was scored ${request.told.score}, but ${wrong}`;
    }
    return null;
  },
};

/** What a gateway that was killed or stood still had sent is known to nobody; nor is what Redis has forgotten. */
function mayHaveForgotten({ faults }: World): boolean {
  return ['gateway killed', 'gateway paused', 'redis replaced', 'replica promoted'].some((fault) =>
    faults.struck.has(fault),
  );
}

export function isTaint({ told }: Request): boolean {
  return told?.kind === 'failure' && failureRow(told.code).taints;
}

/** New work, a score, or an answer of the very call that was told to be lost, asked for after the taint was told. */
function contradicts(other: Request, taint: Request): boolean {
  if (other.sentMs < taint.toldMs || other.told === null) return false;
  if (other.told.kind === 'score') return true;
  if (other.told.kind === 'view') return other.told.verdict === 'scorable';
  if (other.told.kind !== 'answer') return false;
  const sameCall = other.call === taint.call && !other.conflicting;
  return (
    sameCall || (!other.told.replayed && other.planned !== null && other.planned.kind !== 'bad_arguments')
  );
}

/** Redis has forgotten the taint: to everybody it is a new rollout. That its score is of one life is asked below. */
function begunAnew({ replacedMs, missedFromMs }: World['redis'], taint: Request, other: Request): boolean {
  return replacedMs.some(
    (atMs, index) =>
      atMs > taint.sentMs && atMs < other.toldMs && taint.toldMs > (missedFromMs[index] ?? Infinity),
  );
}

/** Why a score is not of what the rollout did; null when it is. */
function madeUp(world: World, request: Request, score: number): string | null {
  const { rollout, named, toldMs } = request;
  const ran = callsOf(world, request).filter(({ startedMs }) => startedMs <= toldMs);
  const last = ran.at(-1);
  // Where Redis has forgotten a life that nobody could tell of, the last one counts, and every named call must be of it.
  const there = ran.filter(({ sandbox, boot }) => sandbox === last?.sandbox && boot === last.boot);
  const missing = named.find(
    (call) =>
      ran.some((one) => one.call === call) &&
      !there.some((one) => one.call === call) &&
      !wasRefusedAnew(world, request, call),
  );
  if (missing !== undefined) return `${missing} had run in another sandbox than the last`;
  if (isWorthOf(world, request, score)) return null;
  const isBroken = world.truth.brokenBy(ownerKey(rollout.run, rollout.name));
  const byText = scoresByText[rollout.environment];
  if ((rollout.environment === 'judged' || rollout.environment === 'guarded') && score === refusedScore) {
    return world.refused.has(rollout.name) ? null : 'its judge had not refused its answer';
  }
  if (byText !== undefined) {
    if (score !== byText(rollout.right || world.flattered.has(rollout.name)))
      return `its answer was ${rollout.right ? 'right' : 'wrong'}`;
  } else if (isBroken) {
    if (score !== 0) return 'it had broken its sandbox';
  } else if (score !== there.length && !(named.length === 0 && score === 0)) {
    return `it had run ${there.length} calls`;
  }
  // A platform that names no call, of a rollout that Redis has forgotten: to everybody it is a new one, without calls.
  if (isBroken || (world.redis.replacedMs.length > 0 && named.length === 0)) return null;
  const struck = there.find((one) => one.struck);
  if (struck !== undefined) return `${struck.call} was killed for want of its machine's memory`;
  const lost = there.find((one) => isLostBefore(world, one, firstGradeMs(world, request)));
  return lost === undefined ? null : `${lost.sandbox} had been lost before its grade was asked for`;
}

/** Where Redis has forgotten a life of which nothing was told, the trainer heard of this call only that the next was broken. */
function wasRefusedAnew({ redis, ledger }: World, { rollout }: Request, call: string): boolean {
  const told = ledger.of(rollout.name).flatMap((one) => (one.call === call && one.told ? [one.told] : []));
  const answers = told.filter(({ kind }) => kind === 'answer');
  return redis.replacedMs.length > 0 && answers.length > 0 && answers.every(isBrokenAnswer);
}

/** What the environment gives a policy that failed its own sandbox: never more than the truth. */
function isWorthOf({ stage, truth }: World, { rollout }: Request, score: number): boolean {
  const owner = ownerKey(rollout.run, rollout.name);
  const isItsDoing = stage?.actor === 'adversary' && stage.deedOf(owner) !== null;
  if (stage === null || !(isItsDoing || truth.brokenBy(owner))) return false;
  const onBad: Readonly<Record<string, number>> = badFilesScore;
  return score === 0 || score === onBad[rollout.environment];
}

const isBrokenAnswer = (told: Told): boolean => told.kind === 'answer' && told.output.startsWith(brokenWords);

/** What environments give that look at the answer alone. */
const scoresByText: Readonly<Record<string, (right: boolean) => number>> = {
  told: (right) => (right ? 1 : 0),
  judged: judgedScore,
  guarded: judgedScore,
  attached: judgedScore,
};

function callsOf(world: World, { rollout }: Request): readonly Execution[] {
  return world.truth
    .executionsOf(ownerKey(rollout.run, rollout.name))
    .filter(({ call }) => !call.includes(' '));
}

function firstGradeMs(world: World, { rollout }: Request): number {
  const grades = world.ledger.of(rollout.name).filter(({ asking }) => asking === 'grade');
  return Math.min(...grades.map(({ sentMs }) => sentMs));
}

function isLostBefore(world: World, { sandbox, boot }: Execution, atMs: number): boolean {
  return (world.truth.lifeOf(sandbox, boot)?.endedMs ?? Infinity) < atMs;
}
