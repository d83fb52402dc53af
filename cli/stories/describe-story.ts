import type { Evidence } from '../../src/failure/failure.ts';
import { explain } from '../../src/reports/explanation.ts';
import { endOf } from '../../src/reports/timeline.ts';
import type { CallStory, RolloutStory } from '../../src/reports/rollout-story.ts';
import { bytes, duration, score, timeOfDay } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import { describeExplanation } from './describe-explanation.ts';
import { describeMissing } from './describe-missing.ts';
import { labelled } from './labelled.ts';

/** One screen: what became of the rollout, and why; of one that can be scored, call by call with blame. */
export function describeStory(story: RolloutStory, width: number): string {
  const explanation = explain(story);
  const rest = explanation === null ? scorable(story, width) : describeExplanation(explanation, width);
  return [...heading(story), '', ...rest, ...describeMissing(story.missing, width)].join('\n');
}

function heading(story: RolloutStory): readonly string[] {
  const attempt = story.attempt === 1 ? '' : `, attempt ${story.attempt}`;
  return labelled([
    ['rollout', `${story.rolloutId}${attempt}`],
    ['run', story.run],
    ...(story.keyIds.length === 0 ? [] : [['key', story.keyIds.join(', ')] as const]),
    ['environment', `${story.environment}@${story.version.slice(0, 12)}`],
    ['state', describeState(story)],
    ['verdict', describeVerdict(story)],
    ['score', score(story.score)],
  ]);
}

function describeState({ state, closedBy, closedByKey, source }: RolloutStory): string {
  const end = closedBy === null ? null : `${closedBy}${closedByKey === null ? '' : `, key ${closedByKey}`}`;
  if (source === 'fleet') return end === null ? (state ?? 'unknown') : `${state} (${end})`;
  const forgotten = 'not in the fleet’s state any more; told from the event log';
  return end === null ? forgotten : `${forgotten}; ${end}`;
}

function describeVerdict({ verdict, suspected }: RolloutStory): string {
  if (verdict === null) return 'none yet';
  if (verdict.kind === 'scorable') return 'scorable';
  const mark = suspected === null ? '' : `, suspected: ${suspected}`;
  return `discard: ${verdict.code}${verdict.cause === undefined ? '' : ` (${verdict.cause})`}${mark}`;
}

function scorable(story: RolloutStory, width: number): readonly string[] {
  const { sandbox, launchType, broken, suspected, evidence, calls } = story;
  const facts = labelled([
    ['sandbox', sandbox === null ? 'none' : [sandbox, launchType].filter(Boolean).join(', ')],
    ...(broken === null ? [] : [['broken', `the model’s own doing: ${broken}`] as const]),
    ...(suspected === null ? [] : [['suspected', `${suspected}: its grader ended badly`] as const]),
    ...(Object.keys(evidence).length === 0 ? [] : [['evidence', describeEvidence(evidence)] as const]),
  ]);
  const table = () => describeCalls(calls, story.keyIds.length > 1, width);
  return [...facts, '', calls.length === 0 ? 'no call is known to have reached a sandbox' : table()];
}

const describeEvidence = (evidence: Evidence): string =>
  Object.entries(evidence)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

/** `keys`: more than one acted, so each call says whose it was. */
function describeCalls(calls: readonly CallStory[], keys: boolean, width: number): string {
  const ofKey = [{ title: 'key', of: (call: CallStory) => call.keyId ?? '–' }];
  const columns = [
    { title: 'at', of: (call: CallStory) => timeOfDay(call.startedAtMs) },
    { title: 'call', of: (call: CallStory) => call.callId },
    { title: 'tool', of: (call: CallStory) => call.tool },
    { title: 'outcome', of: endOf },
    { title: 'blame', of: (call: CallStory) => call.blame ?? '–' },
    ...(keys ? ofKey : []),
    { title: 'took', of: (call: CallStory) => duration(call.durationMs), right: true },
    { title: 'waited', of: (call: CallStory) => duration(call.waitedMs), right: true },
    { title: 'output', of: (call: CallStory) => bytes(call.outputBytes), right: true },
    { title: 'command', of: (call: CallStory) => oneLine(call.command ?? '') },
  ];
  const known = calls.some(({ command }) => command !== null);
  return table(calls, known ? columns : columns.slice(0, -1), width);
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');
