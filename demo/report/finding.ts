import type { Report } from './report.ts';

/** The sentences over the page and its plots: each says what was found, not what is drawn. */
export function findingLines(report: Report) {
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
export function movedGroups(report: Report): number {
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
