import { marks } from './engine/story.ts';
import type { Report } from './simulate.ts';
import type { PlannedRollout } from './trainer/plan.ts';

/** A run for a person: what was planned, what happened, and how it ended. */
export function storyLines(report: Report): readonly string[] {
  const { planned, story, options } = report;
  return [
    `The world of seed ${options.seed}. What its trainers want:`,
    '',
    ...planned.map((plan) => `  ${planWords(plan)}`),
    '',
    `What happened, in seconds since the world began. ${marks.fault} is what goes wrong, because this seed says so; ${marks.state} is how fleet`,
    'state takes it; all else is what somebody does or is told. box-N: a sandbox, in the order in which they were made.',
    '',
    ...story,
    '',
    ...verdictLines(report),
  ];
}

function planWords({ name, face, run, environment, startMs, waves, end }: PlannedRollout): string {
  const calls = waves.map((wave) => wave.length).join(' + ') || 'no';
  const early = end?.duringWave == null ? '' : `, ${end.by} during wave ${end.duringWave + 1}`;
  const begins = `begins at ${(startMs / 1000).toFixed(1)} s`;
  return `${name.padEnd(3)} ${face.padEnd(6)} ${run}  ${environment.padEnd(8)}  ${begins}, ${calls} calls${early}`;
}

/** How a run ended, with the command that shows it again. */
export function verdictLines(report: Report): readonly string[] {
  const { steps, simulatedMs, planned, traceHash, violation, invariants, options } = report;
  const faults = [...report.faults].map(([name, times]) => `${name} ×${times}`).join(', ');
  const length = `${steps} steps in ${(simulatedMs / 1000).toFixed(1)} simulated seconds`;
  return [
    `seed ${options.seed}: ${length}; of ${planned.length} rollouts ${endingWords(report)}`,
    `faults: ${faults === '' ? 'none' : faults}`,
    violation === null
      ? `after every step all ${invariants.length} promises held: ${invariants.join('; ')}`
      : `BROKEN: ${violation.invariant}: ${violation.detail}`,
    `the same again (trace ${traceHash}): ${replayCommand(report)}`,
  ];
}

function endingWords({ endings, planned }: Report): string {
  const count = (kind: string) => [...endings.values()].filter((ending) => ending.kind === kind).length;
  const left = planned.length - endings.size;
  const words = [
    `${count('scored')} scored`,
    `${count('discarded')} discarded`,
    `${count('given_up')} given up`,
  ];
  return [...words, ...(left === 0 ? [] : [`${left} not ended`])].join(', ');
}

/** Everything that a run depends on but the code itself. */
function replayCommand({ options }: Report): string {
  const { seed, steps, rollouts, bug, actor, together } = options;
  const given = [
    `--seed ${seed}`,
    ...(steps === undefined ? [] : [`--steps ${steps}`]),
    ...(rollouts === undefined ? [] : [`--rollouts ${rollouts}`]),
    ...(bug === undefined ? [] : [`--bug '${bug}'`]),
    ...(actor === undefined ? [] : [`--actor ${actor}`]),
    ...(together === undefined ? [] : [`--together ${together}`]),
  ];
  return `npm run sim -- ${given.join(' ')}`;
}
