import { escaped, figure, pageOf } from '#cli/drawing/page.ts';
import { drawCalls } from './charts/calls.ts';
import { drawRewards } from './charts/rewards.ts';
import { drawStarts } from './charts/starts.ts';
import { drawTimeline } from './charts/timeline.ts';
import { findingLines } from './finding.ts';
import type { Findings, Report } from './report.ts';

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
