import { policies } from '../policies/roster.ts';
import type { Expectation } from '../report/expectations.ts';
import { hurtGroups, type Report, type Starts } from '../report/report.ts';

/** Everything that is said at the end, as lines. */
export function summaryLines(report: Report, expected: readonly Expectation[]): readonly string[] {
  return [
    ...section('What a trainer would have learned from zeros', vetoLines(report)),
    ...section('Failures', failureLines(report)),
    ...section('Reward per task, without discarded rollouts', rewardTable(report)),
    ...section('Start latency, first call to a sandbox of its own', [
      startLine('warm', report.starts.warm),
      startLine('cold', report.starts.cold),
    ]),
    ...section('Calls', callLines(report)),
    ...section('Policies (scripts; no model is called)', policyLines()),
    ...section('Expectations', expected.map(expectationLine)),
  ];
}

const section = (title: string, lines: readonly string[]) => [title, ...lines.map((line) => `  ${line}`), ''];

function rewardTable(report: Report): readonly string[] {
  const width = Math.max(...report.groups.map((group) => group.task.length));
  const head = `${'task'.padEnd(width)}   mean   best   spread   discarded`;
  const rows = report.groups.map(
    (group) =>
      `${group.task.padEnd(width)}   ${figure(group.mean)}   ${figure(group.best)}   ${figure(group.spread)}     ${String(group.discarded).padStart(6)}`,
  );
  return [head, ...rows];
}

function failureLines(report: Report): readonly string[] {
  const counts = `${report.rollouts} rollouts, ${report.scorable} scorable, ${report.discarded.length} discarded, ${report.killed.length} sandboxes killed by the demo`;
  const discards = report.discarded.map(
    (one) =>
      `✕ ${one.rollout_id}: ${one.code}${one.cause === null ? '' : ` (${one.cause})`}, at the ${one.at}`,
  );
  const codes = Object.entries(report.fleet.codes).map(([code, count]) => `${code} ${count}`);
  return [
    counts,
    ...discards,
    `the fleet's own count: ${codes.length === 0 ? 'no failure' : codes.join(', ')}`,
  ];
}

/** Only groups that the veto changes; the trainer computes the second figure, Corral never sends a zero for a loss. */
function vetoLines(report: Report): readonly string[] {
  const hurt = hurtGroups(report);
  if (hurt.length === 0) return ['nothing was lost, so every group is complete'];
  const width = Math.max(...hurt.map(({ task }) => task.length));
  const lines = hurt.map(
    ({ task, kept, zeroed }) =>
      `${task.padEnd(width)}   mean ${figure(kept.mean)}, with a zero for the lost rollout ${figure(zeroed.mean)} (${signed(kept.mean, zeroed.mean)})`,
  );
  return [`${hurt.length} of ${report.groups.length} groups would have learned a wrong baseline`, ...lines];
}

function startLine(type: string, starts: Starts): string {
  const times = starts.count === 0 ? '' : `   p50 ${ms(starts.p50_ms)}   p99 ${ms(starts.p99_ms)}`;
  return `${type}   ${String(starts.count).padStart(3)} rollouts${times}`;
}

function callLines(report: Report): readonly string[] {
  const { calls } = report;
  const tools = Object.entries(calls.by_tool).map(([tool, count]) => `${tool} ${count}`);
  return [
    `${calls.count} calls (${tools.join(', ')}), ${calls.retries} retries, ${calls.leaked} leaked bodies`,
    `per rollout   p50 ${calls.per_rollout.p50 ?? '–'}   most ${calls.per_rollout.max ?? '–'}`,
    `output        p50 ${bytes(calls.output_bytes.p50)}   p99 ${bytes(calls.output_bytes.p99)}   most ${bytes(calls.output_bytes.max)}`,
    `latency       p50 ${ms(calls.latency_ms.p50)}   p99 ${ms(calls.latency_ms.p99)}, waiting for a sandbox included`,
  ];
}

function policyLines(): readonly string[] {
  const width = Math.max(...policies.map((policy) => policy.name.length));
  return policies.map((policy) => `${policy.name.padEnd(width)}   ${policy.skill}`);
}

function expectationLine(one: Expectation): string {
  return one.held ? `✓ ${one.text}` : `✗ ${one.text}: ${one.seen}`;
}

const figure = (value: number | null) => (value === null ? '   –' : value.toFixed(2));
const ms = (value: number | null) => (value === null ? '–' : `${Math.round(value)} ms`);
const bytes = (value: number | null) => (value === null ? '–' : `${value} B`);
/** Of the figures as they are shown, so that a reader who subtracts them finds the same. */
const signed = (from: number | null, to: number | null) =>
  from === null || to === null ? 'no mean' : (Number(to.toFixed(2)) - Number(from.toFixed(2))).toFixed(2);
