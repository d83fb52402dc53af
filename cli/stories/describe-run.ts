import { duration } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import { labelled } from './labelled.ts';
import type { RunCost, RunStory } from './run-story.ts';
import type { Suspect } from './suspects.ts';

type Wave = NonNullable<RunStory['waves']>[number];

/** One screen: what became of the run's rollouts, what its discards cost, and which commands are suspected. */
export function describeRun(story: RunStory, width: number): string {
  const { run, state, source, rollouts, scored, discarded, open, waves, suspects, cost } = story;
  const heading = labelled([
    ['run', `${run}, ${state ?? `told from the ${source}`}`],
    ['rollouts', `${rollouts}: ${scored} scored, ${discarded} discarded, ${open ?? 'unknown'} open`],
    ['failures', describeCodes(story.codes)],
    ...(cost === null ? [] : describeCost(cost)),
  ]);
  return [
    ...heading,
    ...(waves === null ? [] : describeWaves(waves)),
    ...describeSuspects(suspects, width),
  ].join('\n');
}

/** Of rollouts that are over; the fleet's share tells whether too much is kept ready. */
function describeCost({ seconds, fleet_idle_share: idle }: RunCost): readonly (readonly [string, string])[] {
  const { scored, discarded, ungraded } = seconds;
  const all = scored + discarded + ungraded;
  const lost = all === 0 ? '' : `, ${percent(discarded / all)} of them discarded`;
  return [
    ['sandboxes', `${hours(all)} of rollouts that are over${lost}`],
    ['idle', idle === null ? '–' : `${percent(idle)} of what the whole fleet’s sandboxes have cost`],
  ];
}

/** `12.3 h`, and what is less than one in smaller units. */
const hours = (seconds: number): string =>
  seconds < 3600 ? duration(seconds * 1000) : `${(seconds / 3600).toFixed(1)} h`;

/** Failure codes, the most frequent first. */
export function describeCodes(codes: Readonly<Record<string, number>>): string {
  const all = Object.entries(codes).sort(([, a], [, b]) => b - a);
  return all.map(([code, count]) => `${code} ${count}`).join(', ') || '–';
}

function describeWaves(waves: readonly Wave[]): readonly string[] {
  if (waves.length === 0) return [];
  const columns = [
    { title: 'wave', of: ({ wave }: Wave) => String(wave), right: true },
    { title: 'groups', of: ({ groups }: Wave) => String(groups), right: true },
    { title: 'lost a member', of: (line: Wave) => String(line.groups_hurt), right: true },
    { title: 'rollouts', of: ({ rollouts }: Wave) => String(rollouts), right: true },
    { title: 'lost', of: (line: Wave) => String(line.rollouts_lost), right: true },
    { title: 'signal lost', of: (line: Wave) => percent(line.signal_lost), right: true },
  ];
  return ['', table(waves, columns)];
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

function describeSuspects(suspects: readonly Suspect[], width: number): readonly string[] {
  if (suspects.length === 0) return [];
  const columns = [
    { title: 'rollouts', of: ({ rollouts }: Suspect) => String(rollouts), right: true },
    { title: 'environment', of: ({ environment }: Suspect) => environment },
    { title: 'ended as', of: ({ code }: Suspect) => code },
    { title: 'last command', of: ({ command }: Suspect) => (command ?? 'unknown').replaceAll(/\s+/g, ' ') },
  ];
  return [
    '',
    'suspected: nobody can tell whether the last command was the cause',
    table(suspects, columns, width),
  ];
}
