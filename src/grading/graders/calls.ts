import { posix } from 'node:path';
import type { CallSelector, Json, MostAnswers } from '#src/model/grader.ts';
import type { Story, StoryCall } from '../story.ts';
import { textsAt } from './compared.ts';
import type { Compared, Leaf, Scored } from './evaluation.ts';

/**
 * Scores what a rollout did, by its calls. The policy writes arguments and chooses how long they are, so only what is there
 * and whole earns anything: a call whose arguments were cut opened no file and was no check, but it takes the place of a file
 * where only the first count, and it was an edit where it may have been one.
 */
export function gradeByCalls(grader: Leaf<'calls'>, item: Compared['item'], story: Story): Scored {
  const { score, ...seen } =
    grader.asks === 'opened' ? opened(grader, item, story) : checked(grader, story.calls);
  const cut = story.missing.arguments;
  const reason = cut === 0 ? seen.reason : `${seen.reason}; the arguments of ${cut} calls were cut`;
  const detail = { kind: 'calls', asks: grader.asks, score, calls: story.calls.length, cut, ...seen, reason };
  return { kind: 'scored', score, detail, suspected: null };
}

type Asked<Asks extends Leaf<'calls'>['asks']> = Extract<Leaf<'calls'>, { readonly asks: Asks }>;
type Seen = { readonly score: number; readonly reason: string };

const endedWell = ({ summary }: StoryCall): boolean =>
  summary.outcome === 'completed' && summary.exitCode === 0;

function opened(grader: Asked<'opened'>, item: Compared['item'], { calls }: Story): Seen {
  const truth = new Set(textsAt(item, grader.reference).map(plainPath));
  const named = calls.flatMap((call) => pathsOf(grader, call));
  const asked = firstOf([...new Set(named)], grader.most, truth.size);
  const hits = new Set(asked).intersection(truth).size;
  const score = truth.size === 0 ? 1 : hits / truth.size;
  return { score, reason: `opened ${hits} of ${truth.size} files that it should, among ${named.length}` };
}

function pathsOf({ tools }: Asked<'opened'>, call: StoryCall): readonly string[] {
  const tool = tools.find((each) => each.tool === call.summary.tool);
  if (tool === undefined || !endedWell(call)) return [];
  // Whatever it named, it opened something; two such are not the same.
  if (call.arguments === null) return [`\0${call.summary.call}`];
  return textsIn(call.arguments[tool.argument]).map(plainPath);
}

function textsIn(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? (value as readonly Json[]).filter((each) => typeof each === 'string') : [];
}

/** A command begins in the workspace, so both ways to name a file in there are one. */
const plainPath = (path: string): string =>
  posix
    .normalize(path.trim())
    .replace(/^\/workspace\//, '')
    .replace(/(?<=.)\/$/, '');

function firstOf(paths: readonly string[], most: MostAnswers | undefined, expected: number) {
  if (most === undefined) return paths;
  return paths.slice(0, 'count' in most ? most.count : Math.ceil(most.timesExpected * expected));
}

function checked({ edits, checks, passing }: Asked<'checked'>, calls: readonly StoryCall[]): Seen {
  const isCheck = (call: StoryCall) => checks.some((one) => selects(one, call) === 'yes');
  const mayEdit = (call: StoryCall) => edits.some((one) => selects(one, call) !== 'no');
  const edited = calls.filter(
    (call) => call.summary.outcome !== 'refused' && mayEdit(call) && !isCheck(call),
  );
  if (edited.length === 0) return { score: 0, reason: 'no call edited anything' };
  const editedAtMs = Math.max(...edited.map(({ output }) => output?.endedAtMs ?? Number.POSITIVE_INFINITY));
  const after = calls.filter((call) => isCheck(call) && call.summary.startedAtMs >= editedAtMs);
  const counted = after.filter(
    (call) => call.summary.outcome === 'completed' && (!passing || endedWell(call)),
  );
  if (counted.length > 0) return { score: 1, reason: 'checked after its last edit' };
  const reason = after.length > 0 ? 'no check after its last edit passed' : 'no check after its last edit';
  return { score: 0, reason };
}

/** `unknown`: its arguments were cut. */
function selects({ tool, argument, is }: CallSelector, call: StoryCall): 'yes' | 'no' | 'unknown' {
  if (call.summary.tool !== tool) return 'no';
  if (argument === undefined || is === undefined) return 'yes';
  if (call.arguments === null) return 'unknown';
  const value = call.arguments[argument];
  return typeof value === 'string' && is.includes(value.trim()) ? 'yes' : 'no';
}
