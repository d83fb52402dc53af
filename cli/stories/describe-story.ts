import type { FailureCode } from '#src/failure/codes.ts';
import type { Evidence } from '#src/failure/failure.ts';
import type { PartReason, ToldWhy } from '#src/ports/event-log.ts';
import { explain, type Explanation, type Told } from '#src/reports/explanation.ts';
import { type CallStory, endOf, type RolloutStory } from '#src/reports/rollout-story.ts';
import { bytes, duration, score, timeOfDay } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import { visibleLine } from '#src/model/visible-text.ts';
import { describeMissing, indented, labelled, textWidth, wrap } from './screen.ts';

/** One screen: what became of the rollout, and why; of one that can be scored, call by call with blame. */
export function describeStory(story: RolloutStory, width: number): string {
  const explanation = explain(story);
  const rest =
    explanation === null
      ? scorable(story, width)
      : [...describeExplanation(explanation, width), ...whyOf(story, width)];
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

function describeVerdict({ verdict, suspected, voidReason }: RolloutStory): string {
  if (verdict === null) return 'none yet';
  if (verdict.kind === 'scorable')
    return voidReason === null ? 'scorable' : `scorable, voided: ${visibleLine(voidReason)}`;
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
  return [
    ...facts,
    ...whyOf(story, width),
    '',
    calls.length === 0 ? 'no call is known to have reached a sandbox' : table(),
  ];
}

/** Why a rollout has its score; a discarded one has this as far as its grading came. */
const whyOf = ({ why, score: given }: RolloutStory, width: number): readonly string[] =>
  why === null ? [] : ['', ...describeWhy(why, given !== null, width)];

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

/** Why a rollout was discarded: what happened, the evidence, the cause, what the trainer received. */
function describeExplanation(explanation: Explanation, width: number): readonly string[] {
  const { what, timeline, whose, suspected, lastCommand } = explanation;
  const most = textWidth(width);
  const text = (sentence: string) => wrap(sentence.replaceAll('`', ''), most).map(indented);
  return [
    'what happened',
    ...what.flatMap(text),
    ...timeline.map(({ atMs, what: said }) => indented(cut(`${timeOfDay(atMs)}  ${said}`, most))),
    '',
    'evidence',
    ...labelled(evidenceLines(explanation)).map(indented),
    '',
    'whose fault',
    ...text(whose),
    ...(suspected === null ? [] : [indented(cut(`last command: ${lastCommand ?? 'unknown'}`, most))]),
    '',
    'what the trainer got',
    ...describeTold(explanation.told).map(indented),
  ];
}

/** Only then did a request find the sandbox gone. After every other discard the sandbox may still run. */
const wasLost = (code: FailureCode): boolean => code === 'sandbox_lost' || code === 'outcome_unknown';

/** Evidence that has a place of its own on the screen. */
const toldAbove: ReadonlySet<string> = new Set(['boot_after', 'code', 'cause', 'suspected']);

function evidenceLines({ code, epoch, admitted, evidence }: Explanation) {
  const seen = Object.entries(evidence).filter(([name, value]) => !toldAbove.has(name) && value !== null);
  return [
    ['ran in', epoch.before ?? 'no sandbox'] as const,
    ...(wasLost(code) ? [['afterwards', `${epoch.after ?? 'nothing of it'} answered`] as const] : []),
    ...(admitted === null ? [] : [['delivered', deliveries[admitted] ?? admitted] as const]),
    ...seen.map(([name, value]) => [name, String(value).trim()] as const),
  ];
}

/** What `admitted` says of the call that was cut off. */
const deliveries: Readonly<Record<string, string>> = {
  yes: 'yes: the sandbox had taken the call',
  no: 'no: nothing was sent',
  unknown: 'unknown: the call was sent, and how far it came cannot be found out',
};

function describeTold(told: readonly Told[]): readonly string[] {
  const columns = [
    { title: 'who asked', of: (line: Told) => line.to },
    { title: 'RFT face', of: (line: Told) => String(line.rft) },
    { title: 'native face', of: (line: Told) => String(line.native) },
    { title: 'code', of: (line: Told) => line.code },
    { title: 'retry', of: (line: Told) => line.retry },
  ];
  return table(told, columns).split('\n');
}

function cut(text: string, width: number): string {
  const line = visibleLine(text);
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`;
}

/** Lines of a grader's stderr that a screen has room for. */
const mostStderrLines = 8;

/** Why a rollout has its score, or has none: what was answered, what was true, and what every part of the grader says of it. */
function describeWhy(why: ToldWhy, isScored: boolean, width: number): readonly string[] {
  const most = textWidth(width);
  const compared = [
    ['item', why.itemId ?? '(it has no id)'] as const,
    ...named('answer', why.answer),
    ...named('reference', why.reference),
  ];
  return [
    isScored ? 'why this score' : 'what its grader was asked',
    ...labelled(compared).map((line) => indented(cut(line, most))),
    '',
    ...table(why.parts, columns, most).split('\n').map(indented),
    ...describeStderr(why.stderr, most),
  ];
}

const named = (what: string, texts: Readonly<Record<string, string>>) =>
  Object.entries(texts).map(([path, text]) => [what, `${path} = ${text}`] as const);

const columns = [
  { title: 'part', of: ({ part }: PartReason) => part },
  { title: 'score', of: (part: PartReason) => score(part.score), right: true },
  { title: 'reason', of: ({ reason }: PartReason) => visibleLine(reason) },
];

function describeStderr(stderr: string, most: number): readonly string[] {
  if (stderr.trim() === '') return [];
  const lines = stderr.trimEnd().split('\n').slice(-mostStderrLines);
  return ['', 'the end of its grader’s stderr', ...lines.map((line) => indented(cut(line, most)))];
}
