import type { KeptCall, KeptLine } from '#src/adapters/event-log/kept-log.ts';
import { asFailure } from '#src/failure/failure.ts';
import { checkCanaries, checkEndOf, suspectJudge, unchecked } from '#src/grading/guard/await-guard.ts';
import type { CanaryWord } from '#src/grading/guard/canaries.ts';
import { judgeRequest } from '#src/grading/judge-request.ts';
import { evaluate } from '#src/grading/graders/evaluate.ts';
import type { CommandGrade, GradingContext, Leaf } from '#src/grading/graders/evaluation.ts';
import { type Costs, noStory, type Story, type StoryCall, writtenStory } from '#src/grading/story.ts';
import { reasonsIn } from '#src/grading/told-why.ts';
import { readsCalls } from '#src/model/grader-leaves.ts';
import type { Grader } from '#src/model/grader.ts';
import { ownerOf } from '#src/model/rollout.ts';
import type { PartReason } from '#src/ports/event-log.ts';
import type { Judge } from '#src/ports/judge.ts';
import { CommandError } from '../command-error.ts';
import { score } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import { describeLeftOut, type LeftOut } from './left-out.ts';

/** What the newer grader gives. */
export type NewScore = {
  /** Null: it has none, by the machinery's fault or by the grader's own word; `why` says which. */
  readonly new: number | null;
  readonly why: string | null;
  readonly parts: readonly PartReason[];
};

/** One rollout's two scores: its own grader's, and the newer grader's. */
export type Regraded = NewScore & {
  readonly rollout: string;
  readonly item: string | null;
  readonly version: string;
  /** When its old score was given. */
  readonly graded_at_ms: number;
  readonly old: number;
};

type RegradeDeps = {
  readonly judge: Judge;
  readonly secret: (name: string) => string | undefined;
  /** Runs a program in a sandbox of the fleet; throws where the fleet fails. */
  readonly runCommand: (kept: KeptLine, leaf: Leaf<'command'>) => Promise<CommandGrade>;
};

/** A failure is reported with its rollout and is not a score, neither old nor new. */
export async function regrade(kept: KeptLine, grade: () => Promise<NewScore>): Promise<Regraded> {
  const { rollout } = ownerOf(kept.key);
  const { id = null } = kept.item ?? {};
  const about = {
    rollout,
    item: typeof id === 'string' || typeof id === 'number' ? String(id) : null,
    version: kept.version,
    graded_at_ms: kept.atMs,
    old: kept.score,
  };
  try {
    return { ...about, ...(await grade()) };
  } catch (thrown) {
    const why =
      thrown instanceof CommandError
        ? thrown.message
        : `${asFailure(thrown).code}: ${asFailure(thrown).message}`;
    return { ...about, new: null, why, parts: [] };
  }
}

/**
 * Null: it can be graded again. Half of what a call said would be graded as the whole, so a grader that reads what calls said does
 * not get a rollout in which a text was cut, or is missing.
 */
export function whyNotRegradable(grader: Grader, { rollout: { calls, missing } }: KeptLine): string | null {
  if (!readsCalls(grader)) return null;
  const lost = calls.filter(({ output, output_characters }) => output === null && output_characters > 0);
  const outputs = missing.outputs + lost.length;
  if (missing.arguments + outputs === 0) return null;
  return `the grader reads what calls said, and ${missing.arguments} arguments and ${outputs} outputs are cut or missing`;
}

/** By the very graders that gateways run. */
export async function gradeHere(deps: RegradeDeps, grader: Grader, kept: KeptLine): Promise<NewScore> {
  const evaluation = await evaluate(grader, contextOf(deps, kept));
  if (evaluation.kind === 'discarded')
    return { new: null, why: `the grader discards it: ${evaluation.reason}`, parts: [] };
  return { new: evaluation.score, why: null, parts: reasonsIn(evaluation.detail) };
}

/** Longer than any judge is asked, with all its tries. */
const judgeMs = 3_600_000;

function contextOf(deps: RegradeDeps, kept: KeptLine): GradingContext {
  const { sample, rollout } = kept.rollout;
  const story = storyOf(kept);
  return {
    sample,
    item: kept.item,
    toolCalls: kept.toolCalls,
    story: async () => story,
    costs: async () => costsOf(kept),
    runCommand: (leaf) => deps.runCommand(kept, leaf),
    askJudge: async (leaf) => {
      await believe(deps, leaf);
      const calls = leaf.calls ? writtenStory(story) : {};
      const asked = { sample: JSON.stringify(sample), item: kept.item, traceId: rollout, calls, files: [] };
      return deps.judge.score(judgeRequest(leaf, asked, deps.secret), AbortSignal.timeout(judgeMs));
    },
  };
}

/** Each judge is checked once: what is graded again is graded in one sitting. */
const checks = new WeakMap<Leaf<'http'>, Promise<CanaryWord>>();

async function believe(deps: RegradeDeps, leaf: Leaf<'http'>): Promise<void> {
  const { guard } = leaf;
  if (guard === undefined) return;
  const check = checks.get(leaf) ?? checkCanaries(deps, { ...leaf, guard }, judgeMs);
  checks.set(leaf, check);
  const said = await check;
  const end = checkEndOf(leaf, said);
  if (end.kind === 'wrong') throw suspectJudge(leaf, end.evidence);
  if (said.kind === 'no_evidence') throw unchecked(leaf, said.reason);
}

function storyOf({ rollout: { calls, missing } }: KeptLine): Story {
  return { ...noStory, calls: calls.map(storyCall), missing };
}

/** The inverse of how a story is written. */
function storyCall(call: KeptCall): StoryCall {
  const said = call.output === null ? null : call.output + (call.output_end ?? '');
  return {
    summary: {
      call: call.id,
      tool: call.tool,
      outcome: call.outcome,
      code: call.code,
      exitCode: call.exit_code,
      startedAtMs: call.started_at_ms,
      waitedMs: call.waited_ms,
      durationMs: call.duration_ms,
      outputBytes: call.output_bytes,
    },
    arguments: call.arguments,
    asked: { text: call.arguments_text ?? JSON.stringify(call.arguments), whole: call.arguments_bytes },
    output:
      said === null
        ? null
        : { text: said, whole: call.output_characters, endedAtMs: call.ended_at_ms ?? call.started_at_ms },
  };
}

/** The costs of the model's calls, as the grader received them. */
function costsOf({ rollout: { calls }, backgroundMs = 0 }: KeptLine): Costs {
  const own = calls.filter(({ tool }) => tool !== 'exec');
  return {
    backgroundMs,
    timeMs: backgroundMs + own.reduce((total, { duration_ms }) => total + (duration_ms ?? 0), 0),
    bytes: own.reduce((total, { output_bytes }) => total + output_bytes, 0),
  };
}

export type RegradeReport = {
  readonly run: string;
  readonly grader: string;
  readonly ok: boolean;
  readonly summary: RegradeSummary;
  readonly rollouts: readonly Regraded[];
  /** Rollouts of the run that neither mean counts, those without a new score included. */
  readonly left_out: readonly LeftOut[];
};

type RegradeSummary = {
  readonly rollouts: number;
  /** Kept rollouts that were voided: they are not graded again, and count in nothing else here. */
  readonly voided: number;
  readonly regraded: number;
  readonly higher: number;
  readonly lower: number;
  readonly same: number;
  /** Over rollouts that have both scores. */
  readonly old_mean: number | null;
  readonly new_mean: number | null;
};

const epsilon = 1e-9;

export function summaryOf(rollouts: readonly Regraded[], voided: number): RegradeSummary {
  const both = rollouts.flatMap((one) => (one.new === null ? [] : [{ old: one.old, now: one.new }]));
  const mean = (of: (one: { old: number; now: number }) => number) =>
    both.length === 0 ? null : both.reduce((total, one) => total + of(one), 0) / both.length;
  return {
    rollouts: rollouts.length,
    voided,
    regraded: both.length,
    higher: both.filter(({ old, now }) => now > old + epsilon).length,
    lower: both.filter(({ old, now }) => now < old - epsilon).length,
    same: both.filter(({ old, now }) => Math.abs(now - old) <= epsilon).length,
    old_mean: mean(({ old }) => old),
    new_mean: mean(({ now }) => now),
  };
}

export function describeRegrade(report: RegradeReport, width: number): string {
  const { run, grader, summary, rollouts, left_out } = report;
  const lines = table(
    rollouts,
    [
      { title: 'rollout', of: (one) => one.rollout },
      { title: 'item', of: (one) => one.item ?? '–' },
      { title: 'old', of: (one) => score(one.old), right: true },
      { title: 'new', of: (one) => score(one.new), right: true },
      { title: 'change', of: changeOf, right: true },
      { title: 'why', of: (one) => one.why ?? one.parts[0]?.reason ?? '' },
    ],
    width,
  );
  const { regraded, higher, lower, same, old_mean, new_mean } = summary;
  const means = `${regraded} of ${summary.rollouts} rollouts: mean ${score(old_mean)} before, ${score(new_mean)} now; ${higher} higher, ${lower} lower, ${same} the same.`;
  return [
    `${run} by ${grader}`,
    '',
    lines,
    '',
    means,
    ...leftOutLines(left_out, width),
    'No stored score was changed.',
  ].join('\n');
}

function leftOutLines(leftOut: readonly LeftOut[], width: number): readonly string[] {
  if (leftOut.length === 0) return [];
  const columns = [
    { title: 'rollout', of: ({ rollout }: LeftOut) => rollout },
    { title: 'reason', of: describeLeftOut },
  ];
  return ['', `Left out of both means: ${leftOut.length}`, '', table(leftOut, columns, width), ''];
}

function changeOf({ old, new: now }: Regraded): string {
  if (now === null) return 'none';
  const change = now - old;
  return Math.abs(change) <= epsilon ? '' : `${change > 0 ? '+' : ''}${change.toFixed(3)}`;
}
