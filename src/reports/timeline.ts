import type { CallStory, RolloutStory } from './rollout-story.ts';

/** Something that happened to a rollout, at a time of the fleet's own clock. */
export type Moment = { readonly atMs: number; readonly what: string };

/** A screen has room for so many calls: how it began, and what came before the end. */
const firstCalls = 2;
const lastCalls = 8;

/** What happened to a rollout, in order; calls in the middle of a long one are told together. */
export function timelineOf(story: RolloutStory): readonly Moment[] {
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

/** How a call ended, in a few words. */
export function endOf({ outcome, code, exitCode, durationMs }: CallStory): string {
  const how =
    code === null ? (exitCode === null ? outcome : `${outcome}, exit ${exitCode}`) : `${outcome}: ${code}`;
  return durationMs === null ? how : `${how} after ${durationMs} ms`;
}
