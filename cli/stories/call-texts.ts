import { type CallText, readCallTexts } from '#src/adapters/event-log/kept-log.ts';
import { rolloutId, runId } from '#src/model/ids.ts';
import type { Owner } from '#src/model/rollout.ts';
import { visibleLines } from '#src/model/visible-text.ts';
import type { KeptText } from '#src/ports/fleet/calls.ts';
import type { RolloutStory } from '#src/reports/rollout-story.ts';
import type { KeptSource } from './kept-source.ts';
import { indented } from './screen.ts';
import { docsPage } from '#src/platform/docs.ts';

export type StoryTexts = {
  /** Where they were read. */
  readonly place: string;
  /** Parts of it that could not be read. */
  readonly unreadable: readonly string[];
  /** In the order of the calls. */
  readonly calls: readonly Pick<CallText, 'call' | 'tool' | 'arguments' | 'output'>[];
  /** Calls of the rollout without a kept text: the environment keeps none, or another process has them. */
  readonly missing: readonly string[];
};

/** What the rollout's calls asked for and returned, as far as this source has it. */
export async function readStoryTexts(story: RolloutStory, source: KeptSource): Promise<StoryTexts> {
  const texts = new Map<string, CallText>();
  const unreadable: string[] = [];
  if (source.isThere) {
    const rollout = rolloutId(story.rolloutId);
    const wanted = { tenant: null, run: runId(story.run), rollout };
    const lines = source.lines(wanted, (name, why) => unreadable.push(`${name}: ${why}`));
    const mark = `/${encodeURIComponent(rollout)}/`;
    for await (const text of readCallTexts(lines, mark, (owner) => isOf(story, owner)))
      texts.set(text.call, mergeTexts(texts.get(text.call), text));
  }
  const ids = [...new Set([...story.calls.map(({ callId }) => callId), ...texts.keys()])];
  const calls = ids.flatMap((id) => {
    const text = texts.get(id);
    return text === undefined ? [] : [withoutKey(text)];
  });
  return { place: source.place, unreadable, calls, missing: ids.filter((id) => !texts.has(id)) };
}

const isOf = ({ run, attempt, rolloutId: rollout }: RolloutStory, owner: Owner): boolean =>
  owner.run === run && owner.attempt === attempt && owner.rollout === rollout;

/** A graded rollout has its calls twice; the process that settled one may have known less of it. */
const mergeTexts = (one: CallText | undefined, other: CallText): CallText => ({
  ...other,
  arguments: one?.arguments ?? other.arguments,
  output: one?.output ?? other.output,
});

const withoutKey = ({ call, tool, arguments: asked, output }: CallText) => ({
  call,
  tool,
  arguments: asked,
  output,
});

export function describeTexts({ place, unreadable, calls, missing }: StoryTexts): string {
  const lines = calls.flatMap(({ call, tool, arguments: asked, output }) => [
    '',
    indented(visibleLines(`${call}  ${tool}`)),
    ...describeText('arguments', asked, Buffer.byteLength(asked?.text ?? ''), 'bytes'),
    ...describeText('output', output, output?.text.length ?? 0, 'characters'),
  ]);
  const more =
    missing.length === 0
      ? []
      : [
          '',
          indented(
            `${missing.length} calls have no kept text in ${place}: see keep in ${docsPage('environments.md')}`,
          ),
        ];
  const broken = unreadable.map((each) => indented(`not read: ${visibleLines(each)}`));
  return ['', 'texts of its calls', ...lines, ...more, ...broken].join('\n');
}

function describeText(what: string, kept: KeptText | null, length: number, unit: string): readonly string[] {
  if (kept === null) return [indented(`${what}: not known`)];
  const cut = kept.whole === length ? '' : `, ${length} of ${kept.whole} ${unit}`;
  const text = visibleLines(kept.text).split('\n');
  return [indented(`${what}${cut}`), ...text.map((line) => indented(indented(line)))];
}
