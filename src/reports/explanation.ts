import { type Blame, type FailureCode, failureRow, type Retry } from '../failure/codes.ts';
import { lossCauses } from '../failure/meanings/loss-causes.ts';
import { meanings } from '../failure/meanings/sections.ts';
import type { Suspected } from '../failure/verdict.ts';
import { type CallStory, endOf, lastCommandOf, type RolloutStory } from './rollout-story.ts';

/**
 * Why a rollout can never be scored, for the person who asks: the questions in the order in which they are asked. What
 * happened, when, whose fault it is, and what the trainer was told follow from its story and its code alone.
 */
export type Explanation = {
  readonly code: FailureCode;
  readonly cause: string | null;
  /** What happened, in sentences: of the code, then of the cause. */
  readonly what: readonly string[];
  readonly timeline: readonly Moment[];
  readonly evidence: RolloutStory['evidence'];
  /** Which life of which sandbox ran the calls, and which answered after; null: none is known to have. */
  readonly epoch: { readonly before: string | null; readonly after: string | null };
  /** Whether the call that was cut off may have run; null where none was. */
  readonly admitted: string | null;
  readonly blame: Blame;
  readonly suspected: Suspected | null;
  readonly whose: string;
  readonly lastCommand: string | null;
  readonly told: readonly Told[];
};

/** Null for a rollout that may be scored, or has no verdict yet. */
export function explain(story: RolloutStory): Explanation | null {
  const { verdict, evidence, suspected, sandbox, boot } = story;
  if (verdict?.kind !== 'discard') return null;
  const { code, cause = null } = verdict;
  const { blame } = failureRow(code);
  const after = evidence['boot_after'];
  return {
    code,
    cause,
    what: [meanings[code].means, ...meaningOf(cause)],
    timeline: timelineOf(story),
    evidence,
    epoch: {
      before: sandbox === null ? null : `${sandbox}, boot ${boot ?? 'unknown'}`,
      after: typeof after === 'string' ? `${sandbox}, boot ${after}` : null,
    },
    admitted: story.calls.find(wasCutOff)?.admitted ?? null,
    blame,
    suspected,
    whose: whoseFault(blame, suspected),
    lastCommand: lastCommandOf(story),
    told: toldOf(story, code),
  };
}

const wasCutOff = ({ outcome }: CallStory): boolean => outcome === 'infrastructure_failure';

function meaningOf(cause: string | null): readonly string[] {
  if (cause === null || !Object.hasOwn(lossCauses, cause)) return [];
  return [lossCauses[cause as keyof typeof lossCauses].means];
}

function whoseFault(blame: Blame, suspected: Suspected | null): string {
  if (suspected === 'command') {
    return 'Counted as ours. Suspected: a command of the policy; nothing proves it, and nothing rules it out.';
  }
  if (suspected === 'dependency') {
    return 'Counted as ours. Suspected: the policy’s use of a backend that its tools depend on; nothing proves it, and nothing rules it out.';
  }
  if (suspected === 'answer') {
    return 'Counted as ours. Suspected: the policy’s answer, of which the judge may have failed; nothing proves it.';
  }
  if (blame === 'caller') return 'The caller’s: the request or its timing, not the policy and not the fleet.';
  return 'Ours: nothing that the policy did could have caused it.';
}

/** Something that happened to a rollout, at a time of the fleet's own clock. */
type Moment = { readonly atMs: number; readonly what: string };

/** A screen has room for so many calls: how it began, and what came before the end. */
const firstCalls = 2;
const lastCalls = 8;

/** What happened to a rollout, in order; calls in the middle of a long one are told together. */
function timelineOf(story: RolloutStory): readonly Moment[] {
  const moments = [
    ...moment(story.openedAtMs, 'opened'),
    ...moment(story.claimedAtMs, `got its sandbox ${story.sandbox ?? ''}${launchOf(story)}`),
    ...callMoments(story.calls, story.keyIds.length > 1),
    ...moment(story.discardedAtMs, `discarded: ${reasonOf(story)}`),
    ...moment(story.closedAtMs, `closed: ${story.closedBy ?? story.state ?? ''}${byKey(story.closedByKey)}`),
  ];
  return moments.toSorted((one, other) => one.atMs - other.atMs);
}

const moment = (atMs: number | null, what: string): readonly Moment[] =>
  atMs === null ? [] : [{ atMs, what }];

const launchOf = ({ launchType }: RolloutStory): string => (launchType === null ? '' : ` (${launchType})`);

/** Whose key it was, where anybody knows. */
const byKey = (keyId: string | null): string => (keyId === null ? '' : `, key ${keyId}`);

function reasonOf({ verdict }: RolloutStory): string {
  if (verdict?.kind !== 'discard') return 'never';
  return verdict.cause === undefined ? verdict.code : `${verdict.code}, ${verdict.cause}`;
}

/** `keys`: more than one acted, so each call says whose it was. */
function callMoments(calls: readonly CallStory[], keys: boolean): readonly Moment[] {
  const callMoment = (call: CallStory): Moment => momentOf(call, keys);
  if (calls.length <= firstCalls + lastCalls + 1) return calls.map(callMoment);
  const middle = calls.slice(firstCalls, -lastCalls);
  return [
    ...calls.slice(0, firstCalls).map(callMoment),
    { atMs: middle[0]?.startedAtMs ?? 0, what: `… ${middle.length} more calls: ${outcomesOf(middle)}` },
    ...calls.slice(-lastCalls).map(callMoment),
  ];
}

function outcomesOf(calls: readonly CallStory[]): string {
  const outcomes = [...Map.groupBy(calls, ({ outcome }) => outcome)];
  return outcomes.map(([outcome, own]) => `${outcome} ${own.length}`).join(', ');
}

function momentOf(call: CallStory, keys: boolean): Moment {
  const { callId, tool, blame, command, keyId } = call;
  const whose = blame === null ? '' : `, blame ${blame}`;
  const ran = command === null ? '' : `: ${command.replaceAll(/\s+/g, ' ')}`;
  return {
    atMs: call.startedAtMs,
    what: `call ${callId}, ${tool}: ${endOf(call)}${whose}${byKey(keys ? keyId : null)}${ran}`,
  };
}

/** What a trainer was, or is, told by each face. */
export type Told = {
  readonly to: string;
  readonly code: FailureCode;
  readonly rft: number;
  readonly native: number;
  /** Whether the same request may be sent again. */
  readonly retry: Retry;
};

/**
 * What a discarded rollout answers: first the requests that the failure itself cut off, then everything that comes
 * later. All of it follows from the one code, which is why nobody has to write it down.
 */
function toldOf({ calls }: RolloutStory, code: FailureCode): readonly Told[] {
  const cutOff = calls.filter(({ outcome }) => outcome === 'infrastructure_failure');
  return [
    ...cutOff.map(({ callId }) => told(`call ${callId}`, code)),
    told('every later call and grade', code),
  ];
}

function told(to: string, code: FailureCode): Told {
  const { rft, native, retry } = failureRow(code);
  return { to, code, rft, native, retry };
}
