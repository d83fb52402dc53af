import type { Report } from './simulate.ts';

/** How a run ended, for a person, with the command that shows it again. */
export function verdictLines(report: Report): readonly string[] {
  const { seed, steps, simulatedMs, rollouts, scored, traceHash, violation } = report;
  const faults = [...report.faults].map(([name, times]) => `${name} ×${times}`).join(', ');
  return [
    `seed ${seed}: ${steps} steps, ${(simulatedMs / 1000).toFixed(1)} s, ${rollouts} rollouts, ${scored} scored, trace ${traceHash}`,
    `faults: ${faults === '' ? 'none' : faults}`,
    violation === null ? 'every invariant held' : `BROKEN: ${violation.invariant}: ${violation.detail}`,
    `again: npm run sim -- --seed ${seed}`,
  ];
}
