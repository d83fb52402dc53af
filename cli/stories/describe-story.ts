import type { Evidence } from '../../src/failure/failure.ts';
import type { Verdict } from '../../src/failure/verdict.ts';
import { bytes, duration, score, timeOfDay } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import type { CallStory, RolloutStory } from './story.ts';

/** One screen: what became of the rollout, why, and what happened call by call with blame. */
export function describeStory(story: RolloutStory, width: number): string {
  const calls = story.calls.length === 0 ? 'no call reached a sandbox' : describeCalls(story.calls, width);
  return [...heading(story), '', calls].join('\n');
}

function heading(story: RolloutStory): readonly string[] {
  const attempt = story.attempt === 1 ? '' : `, attempt ${story.attempt}`;
  const lines = [
    ['rollout', `${story.rolloutId}${attempt}`],
    ['run', story.run],
    ['environment', `${story.environment}@${story.version.slice(0, 12)}`],
    ['state', describeState(story)],
    [
      'sandbox',
      story.sandbox === null ? 'none' : [story.sandbox, story.launchType].filter(Boolean).join(', '),
    ],
    ['verdict', describeVerdict(story.verdict)],
    ['score', score(story.score)],
    ...(Object.keys(story.evidence).length === 0 ? [] : [['evidence', describeEvidence(story.evidence)]]),
  ];
  return lines.map(([name = '', value = '']) => `${name.padEnd(12)} ${value}`);
}

function describeState({ state, closedBy, source }: RolloutStory): string {
  if (source === 'event log') return 'not in the fleet’s state any more; told from the event log';
  return closedBy === null ? (state ?? 'unknown') : `${state} (${closedBy})`;
}

export function describeVerdict(verdict: Verdict | null): string {
  if (verdict === null) return 'none yet';
  if (verdict.kind === 'scorable') return 'scorable';
  return `discard: ${verdict.code}${verdict.cause === undefined ? '' : ` (${verdict.cause})`}`;
}

const describeEvidence = (evidence: Evidence): string =>
  Object.entries(evidence)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

function describeCalls(calls: readonly CallStory[], width: number): string {
  const columns = [
    { title: 'at', of: (call: CallStory) => timeOfDay(call.startedAtMs) },
    { title: 'call', of: (call: CallStory) => call.callId },
    { title: 'tool', of: (call: CallStory) => call.tool },
    { title: 'outcome', of: describeOutcome },
    { title: 'blame', of: (call: CallStory) => call.blame ?? '–' },
    { title: 'took', of: (call: CallStory) => duration(call.durationMs), right: true },
    { title: 'waited', of: (call: CallStory) => duration(call.waitedMs), right: true },
    { title: 'output', of: (call: CallStory) => bytes(call.outputBytes), right: true },
    { title: 'command', of: (call: CallStory) => oneLine(call.command ?? '') },
  ];
  const known = calls.some(({ command }) => command !== null);
  return table(calls, known ? columns : columns.slice(0, -1), width);
}

function describeOutcome({ outcome, code, exitCode }: CallStory): string {
  if (code !== null) return `${outcome}: ${code}`;
  return exitCode === null ? outcome : `${outcome}, exit ${exitCode}`;
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');
