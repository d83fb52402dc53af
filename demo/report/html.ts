import { escaped, figure, pageOf } from '#cli/drawing/page.ts';
import { drawShares } from '#cli/drawing/shares.ts';
import { tones } from '#cli/drawing/svg.ts';
import type { FleetRollout } from '#demo/fleet/fleet-view.ts';
import { drawCalls } from './charts/calls.ts';
import { drawRewards } from './charts/rewards.ts';
import { drawTimeline } from './charts/timeline.ts';
import type { About } from './about.ts';
import { type Findings, hurtGroups, type Report, startTimes } from './report.ts';

/** The whole report as one page. */
export function reportHtml(report: Report, findings: Findings, about: About): string {
  const said = findingLines(report);
  const body = [
    `<h1>${escaped(said.title)}</h1>`,
    `<p class="lead">${escaped(said.lead)}</p>`,
    hurtTable(report),
    figure(said.rewards, rewardNote, drawRewards(findings.records)),
    tiles(report),
    figure(said.timeline, timelineNote, drawTimeline(findings)),
    figure(said.starts, startsNote, drawStarts(findings.fleetRollouts)),
    figure(said.calls, callsNote, drawCalls(findings.records)),
    discardTable(report),
    footer(report, about),
  ];
  return pageOf(said.title, body);
}

const rewardNote =
  'Each dot is one copy of a task, colored by its policy. The band is mean ± standard deviation of the scored copies. A red diamond is the mean that zeros for lost sandboxes would have made.';
const timelineNote =
  'One row per rollout, sorted by when it got its sandbox. All begin in the same instant; a rollout without a warm sandbox waits in line.';
const startsNote = 'Share of rollouts with a sandbox of their own, by time and kind of start.';
const callsNote = 'One column per rollout. Beyond the dashed line the grader subtracts a penalty.';

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

/** The damage of zeros, group by group. */
function hurtTable(report: Report): string {
  const rows = hurtGroups(report).map(
    ({ task, kept, zeroed }) =>
      `<tr><td>${escaped(task)}</td><td class="number">${mean(kept.mean)}</td><td class="number lost">${mean(zeroed.mean)}</td></tr>`,
  );
  if (rows.length === 0) return '';
  const head =
    '<tr><th>group</th><th class="number">mean</th><th class="number">mean with a zero for the lost rollout</th></tr>';
  return `<section><h2>What zeros would have taught</h2><table>${head}${rows.join('')}</table></section>`;
}

const mean = (value: number | null): string => (value === null ? '–' : value.toFixed(2));

function footer(report: Report, { machine, version, command, pages }: About): string {
  const links = pages.map((page) =>
    page.startsWith('http')
      ? `<a href="${escaped(page)}">${escaped(page)}</a>`
      : `<code>${escaped(page)}</code>`,
  );
  return `<footer><p>Corral ${escaped(version)} on ${escaped(machine)}. Repeat it: <code>${escaped(command)}</code>.</p>
<p>Run ${escaped(report.run)}, seed ${escaped(report.seed)}. The policies are scripts; no model was called. The figures are in report.json next to this file.</p>
<p>Read on: ${links.join(', ')}</p></footer>`;
}

function discardTable(report: Report): string {
  if (report.discarded.length === 0) return '';
  const rows = report.discarded.map(
    (one) =>
      `<tr><td>${escaped(one.rollout_id)}</td><td>${escaped(one.code)}</td><td>${escaped(one.cause ?? '')}</td><td>${escaped(one.at)}</td></tr>`,
  );
  const head = '<tr><th>rollout</th><th>code</th><th>cause</th><th>reported at the</th></tr>';
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
        : `${hurtGroups(report).length} of ${report.groups.length} groups would have learned a wrong baseline`,
    lead: leadOf(report),
    rewards:
      lost === 0
        ? 'Every copy was scored, so every mean is over the whole group'
        : 'Zeros would have moved the means; leaving lost rollouts out does not',
    timeline: `All ${report.rollouts} rollouts ended within ${(report.duration_ms / 1000).toFixed(1)} s`,
    starts: startsLine(warm, cold),
    calls: `${report.calls.count} tool calls, ${report.calls.per_rollout.p50 ?? 0} in the median rollout and ${report.calls.per_rollout.max ?? 0} at most`,
  };
}

function leadOf(report: Report): string {
  if (report.discarded.length === 0) return 'Nothing failed, so there was nothing to keep from the trainer.';
  const { scorable, killed } = report;
  return `${report.rollouts} rollouts began at once, and ${killed.length} of their sandboxes were killed. A trainer that records zeros for them would have learned the red means. The fleet answered 503 and discarded them; the other ${scorable} were scored.`;
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
