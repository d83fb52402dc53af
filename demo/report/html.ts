import { escaped, figure, pageOf } from '#cli/drawing/page.ts';
import { drawShares } from '#cli/drawing/shares.ts';
import { tones } from '#cli/drawing/svg.ts';
import type { FleetRollout } from '#demo/fleet/fleet-view.ts';
import { drawCalls } from './charts/calls.ts';
import { drawRewards } from './charts/rewards.ts';
import { drawTimeline } from './charts/timeline.ts';
import { type Findings, type Report, startTimes } from './report.ts';

/** The whole report as one page. */
export function reportHtml(report: Report, findings: Findings): string {
  const said = findingLines(report);
  const body = [
    `<h1>${escaped(said.title)}</h1>`,
    `<p class="lead">${escaped(said.lead)}</p>`,
    tiles(report),
    figure(said.rewards, rewardNote, drawRewards(findings.records)),
    figure(said.timeline, timelineNote, drawTimeline(findings)),
    figure(said.starts, startsNote, drawStarts(findings.fleetRollouts)),
    figure(said.calls, callsNote, drawCalls(findings.records)),
    discardTable(report),
    `<footer>Run ${escaped(report.run)}, seed ${escaped(report.seed)}. The policies are scripts; no model was called. The figures are in report.json beside this file.</footer>`,
  ];
  return pageOf(said.title, body);
}

const rewardNote =
  'Each dot is one copy of a task, coloured by its policy. The band is mean ± spread (standard deviation) of what was scored. A red diamond shows where the mean would have been, had the trainer taken lost sandboxes for zeros.';
const timelineNote =
  'One row a rollout, sorted by when it had its sandbox. All begin in the same instant; who finds no warm sandbox waits in line.';
const startsNote =
  'Share of the rollouts of each launch type that had a sandbox of their own after a given time.';
const callsNote = 'One column a rollout. Beyond the dashed line the grader takes a penalty off the reward.';

function tiles(report: Report): string {
  const facts: readonly (readonly [string, string])[] = [
    ['rollouts', String(report.rollouts)],
    ['scorable', String(report.scorable)],
    ['discarded', String(report.discarded.length)],
    ['tool calls', String(report.calls.count)],
    [
      'output, KiB, p50 / p99',
      `${kib(report.calls.output_bytes.p50)} / ${kib(report.calls.output_bytes.p99)}`,
    ],
    ['whole burst', `${(report.duration_ms / 1000).toFixed(1)} s`],
  ];
  const cells = facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`);
  return `<dl class="tiles">${cells.join('')}</dl>`;
}

function discardTable(report: Report): string {
  if (report.discarded.length === 0) return '';
  const rows = report.discarded.map(
    (one) =>
      `<tr><td>${escaped(one.rollout_id)}</td><td>${escaped(one.code)}</td><td>${escaped(one.cause ?? '')}</td><td>${escaped(one.at)}</td></tr>`,
  );
  const head = '<tr><th>rollout</th><th>code</th><th>cause</th><th>told at the</th></tr>';
  return `<section><h2>What was discarded, and why</h2><table>${head}${rows.join('')}</table></section>`;
}

const kib = (bytes: number | null): string => (bytes === null ? '–' : (bytes / 1024).toFixed(1));

/** The sentences over the page and its plots: each says what was found, not what is drawn. */
function findingLines(report: Report) {
  const lost = report.discarded.length;
  const warm = report.starts.warm;
  const cold = report.starts.cold;
  return {
    title:
      lost === 0
        ? `${report.rollouts} rollouts at once, none lost`
        : `${report.rollouts} rollouts at once, ${lost} sandboxes lost, no reward made of a loss`,
    lead: leadOf(report),
    rewards:
      lost === 0
        ? 'Every copy was scored, so every mean is over the whole group'
        : `Leaving out the ${lost} lost rollouts keeps ${movedGroups(report)} group means where the policies put them`,
    timeline: `All ${report.rollouts} rollouts ended within ${(report.duration_ms / 1000).toFixed(1)} s`,
    starts: startsLine(warm, cold),
    calls: `${report.calls.count} tool calls, ${report.calls.per_rollout.p50 ?? 0} in the median rollout and ${report.calls.per_rollout.max ?? 0} at most`,
  };
}

/** How many groups a fabricated zero would have moved. */
function movedGroups(report: Report): number {
  return report.veto.with.filter((group, index) => report.veto.without[index]?.n !== group.n).length;
}

function leadOf(report: Report): string {
  if (report.discarded.length === 0) return 'Nothing failed, so there was nothing to keep from the trainer.';
  const { scorable, killed } = report;
  return `While they worked, ${killed.length} sandboxes were killed with SIGKILL. Those rollouts were answered with 503 and discarded; the other ${scorable} were scored and noticed nothing.`;
}

type Starts = Report['starts']['warm'];

function startsLine(warm: Starts, cold: Starts): string {
  const part = (name: string, starts: Starts) =>
    starts.count === 0
      ? `no ${name} start`
      : `half of the ${starts.count} ${name} starts within ${Math.round(starts.p50_ms ?? 0)} ms`;
  const line = `${part('warm', warm)}, ${part('cold', cold)}`;
  return line.charAt(0).toUpperCase() + line.slice(1);
}

/** How many rollouts of each launch type had their sandbox after how long: a step up for each rollout. */
function drawStarts(rollouts: readonly FleetRollout[]): string {
  return drawShares('time from first call to a sandbox of its own (ms)', 'rollouts that have one (%)', [
    ['warm', tones.orange, startTimes(rollouts, 'warm')],
    ['cold', tones.blue, startTimes(rollouts, 'cold')],
  ]);
}
