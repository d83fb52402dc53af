import { quantile } from '../drawing/quantile.ts';
import { mean, type StudiedCall, type StudiedRollout, sum } from './rollout.ts';

/** What calls of one tool cost; null where the source does not tell. */
export type ToolUse = {
  readonly tool: string;
  readonly calls: number;
  readonly perRollout: number;
  readonly tokens: Amounts | null;
  readonly bytes: Amounts | null;
  readonly seconds: Amounts | null;
};

export type Amounts = { readonly mean: number; readonly p95: number; readonly max: number };

export type Trace = {
  readonly rollout: string;
  readonly item: string | null;
  readonly score: number | null;
  readonly tools: readonly string[];
};

export type Traces = {
  readonly calls: number;
  readonly perRollout: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly max: number | null;
  /** Rollouts by their number of calls, from none to the most. */
  readonly histogram: readonly number[];
  readonly longest: readonly Trace[];
  readonly tools: readonly ToolUse[];
  readonly repeats: Repeats | null;
  readonly bigrams: readonly Bigram[];
};

/** Counts calls of finished rollouts only, because lost rollouts would look short. */
export function tracesOf(rollouts: readonly StudiedRollout[]): Traces {
  const ended = rollouts.filter((rollout) => rollout.ended.kind !== 'lost');
  const counts = ended.map((rollout) => rollout.calls.length);
  return {
    calls: sum(counts),
    perRollout: mean(counts),
    p50: quantile(counts, 0.5),
    p95: quantile(counts, 0.95),
    max: quantile(counts, 1),
    histogram: histogramOf(counts),
    longest: longestOf(ended),
    tools: toolsOf(ended),
    repeats: repeatsOf(ended),
    bigrams: bigramsOf(ended),
  };
}

function histogramOf(counts: readonly number[]): readonly number[] {
  const most = quantile(counts, 1);
  if (most === null) return [];
  return Array.from({ length: most + 1 }, (_, calls) => counts.filter((count) => count === calls).length);
}

/** More would not be read. */
const longestTold = 5;

const longestOf = (rollouts: readonly StudiedRollout[]): readonly Trace[] =>
  rollouts
    .toSorted((a, b) => b.calls.length - a.calls.length || (a.id < b.id ? -1 : 1))
    .slice(0, longestTold)
    .map(({ id, item, calls, ended }) => ({
      rollout: id,
      item,
      score: ended.kind === 'scored' ? ended.score : null,
      tools: calls.map(({ tool }) => tool),
    }));

function toolsOf(rollouts: readonly StudiedRollout[]): readonly ToolUse[] {
  const calls = rollouts.flatMap((rollout) => rollout.calls);
  return [...Map.groupBy(calls, ({ tool }) => tool)]
    .map(([tool, own]) => ({
      tool,
      calls: own.length,
      perRollout: own.length / rollouts.length,
      tokens: amountsOf(own, (call) => call.outputTokens),
      bytes: amountsOf(own, (call) => call.outputBytes),
      seconds: amountsOf(own, ({ tookMs }) => (tookMs === null ? null : tookMs / 1000)),
    }))
    .toSorted((a, b) => b.calls - a.calls || (a.tool < b.tool ? -1 : 1));
}

function amountsOf(
  calls: readonly StudiedCall[],
  amount: (call: StudiedCall) => number | null,
): Amounts | null {
  const known = calls.flatMap((call) => amount(call) ?? []);
  const middle = mean(known);
  if (middle === null) return null;
  return { mean: middle, p95: quantile(known, 0.95) ?? 0, max: quantile(known, 1) ?? 0 };
}

/** Calls of which the rollout had made the very same before. */
export type Repeats = {
  readonly calls: number;
  readonly repeated: number;
  readonly rollouts: number;
  /** The most frequent first. */
  readonly examples: readonly { readonly call: string; readonly times: number }[];
};

const examplesTold = 3;
const longestExample = 120;

/** Null if no arguments are reported, because then repeats cannot be recognized. */
function repeatsOf(rollouts: readonly StudiedRollout[]): Repeats | null {
  const ofEach = rollouts.map(({ calls }) => calls.flatMap((call) => textOf(call) ?? []));
  const calls = sum(ofEach.map((texts) => texts.length));
  if (calls === 0) return null;
  const repeated = ofEach.map((texts) => texts.filter((text, index) => texts.indexOf(text) < index));
  const examples = [...Map.groupBy(repeated.flat(), (text) => text)]
    .map(([text, again]) => ({ call: text.slice(0, longestExample), times: again.length }))
    .toSorted((a, b) => b.times - a.times || (a.call < b.call ? -1 : 1));
  return {
    calls,
    repeated: repeated.flat().length,
    rollouts: repeated.filter((texts) => texts.length > 0).length,
    examples: examples.slice(0, examplesTold),
  };
}

const textOf = (call: StudiedCall): string | null =>
  call.arguments === null ? null : `${call.tool} ${call.arguments}`;

/** One tool after another: what a policy has made a habit of. */
export type Bigram = { readonly first: string; readonly next: string; readonly times: number };

function bigramsOf(rollouts: readonly StudiedRollout[]): readonly Bigram[] {
  const pairs = rollouts.flatMap(({ calls }) =>
    calls.slice(1).map((call, index) => JSON.stringify([calls[index]?.tool ?? '', call.tool])),
  );
  return [...Map.groupBy(pairs, (pair) => pair)]
    .map(([pair, all]) => {
      const [first, next] = JSON.parse(pair) as [string, string];
      return { first, next, times: all.length };
    })
    .toSorted((a, b) => b.times - a.times || (a.first + a.next < b.first + b.next ? -1 : 1));
}
