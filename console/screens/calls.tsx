import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallLine, CallTextsAnswer, Excerpt } from '#src/protocol/console/rollout.ts';
import { ask } from '../ui/api.ts';
import { visibleText } from '../ui/door.ts';
import { bytes, count, span, verbColor, whole } from '../ui/text.ts';

type Place = { readonly path: string; readonly asked: string };

/** A rollout may have thousands: blocks that are not on the screen are one empty box each. */
const blockLength = 40;
const mostMarks = 300;
const usualHeight = 90;

type Outputs = 'none' | 'some' | 'all';

export function Calls({
  calls,
  openedAtMs,
  texts,
  ...place
}: Place & {
  readonly calls: readonly CallLine[];
  readonly openedAtMs: number;
  readonly texts: { readonly place: string; readonly unreadable: readonly string[] };
}) {
  const [outputs, setOutputs] = useState<Outputs>('some');
  const colors = colorsOf(calls);
  const blocks = Array.from({ length: Math.ceil(calls.length / blockLength) }, (_, at) => at * blockLength);
  const unkept = calls.filter(({ output }) => output === null).length;
  return (
    <section class="card" aria-label="Calls">
      <div class="filters">
        <h2>Calls</h2>
        <span class="segments" role="group" aria-label="Outputs">
          {(['none', 'some', 'all'] as const).map((choice) => (
            <button
              key={choice}
              type="button"
              aria-pressed={outputs === choice}
              onClick={() => setOutputs(choice)}
            >
              {choice}
            </button>
          ))}
        </span>
        <span class="quiet">outputs</span>
      </div>
      <Outline calls={calls} colors={colors} />
      {unkept > 0 && (
        <p class="quiet">
          {count(unkept, 'call')} without a kept output: the environment keeps none, or they are in another
          store.
        </p>
      )}
      {texts.unreadable.map((each) => (
        <p key={each} class="banner mono">
          {each}
        </p>
      ))}
      {calls.length === 0 && <p class="empty">It has made no call.</p>}
      <div class="calls-list">
        {blocks.map((from) => (
          <Block key={from} length={Math.min(blockLength, calls.length - from)} isFirst={from === 0}>
            {() =>
              calls
                .slice(from, from + blockLength)
                .map((call, at) => (
                  <Call
                    key={call.id}
                    call={call}
                    number={from + at + 1}
                    offsetMs={call.started_at_ms - openedAtMs}
                    color={colors.get(call.verb) ?? 'var(--v7)'}
                    outputs={outputs}
                    {...place}
                  />
                ))
            }
          </Block>
        ))}
      </div>
    </section>
  );
}

function colorsOf(calls: readonly CallLine[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { verb } of calls) counts.set(verb, (counts.get(verb) ?? 0) + 1);
  const inOrder = [...counts].toSorted(([, one], [, other]) => other - one);
  return new Map(inOrder.map(([verb], place) => [verb, verbColor(place)]));
}

/** A mark for each call, or for each of so many parts of them. */
function Outline({
  calls,
  colors,
}: {
  readonly calls: readonly CallLine[];
  readonly colors: ReadonlyMap<string, string>;
}) {
  const every = Math.max(1, Math.ceil(calls.length / mostMarks));
  const marks = calls.filter((_, at) => at % every === 0);
  const verbs = [...colors].slice(0, 7);
  return (
    <>
      <svg
        class="outline"
        viewBox={`0 0 ${Math.max(60, marks.length) * 6} 18`}
        preserveAspectRatio="xMinYMid meet"
        aria-hidden="true"
      >
        {marks.map((call, at) => (
          <rect
            key={call.id}
            x={at * 6}
            y={isFailed(call) ? 0 : 3}
            width="4"
            height={isFailed(call) ? 18 : 12}
            style={{ fill: isFailed(call) ? 'var(--bad)' : (colors.get(call.verb) ?? 'var(--v7)') }}
          />
        ))}
      </svg>
      <p class="legend">
        {verbs.map(([verb, color]) => (
          <span key={verb}>
            <i style={{ background: color }} /> <code>{verb}</code>
          </span>
        ))}
      </p>
    </>
  );
}

const isFailed = ({ blame }: CallLine): boolean => blame !== null;

/** Its calls while it is near the screen; afterwards an empty box of the same height. */
export function Block({
  length,
  isFirst,
  children,
}: {
  readonly length: number;
  readonly isFirst: boolean;
  readonly children: () => ComponentChildren;
}) {
  const ref = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(isFirst);
  const height = useRef(length * usualHeight);
  useEffect(() => {
    const { current } = ref;
    if (current === null) return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry === undefined) return;
        if (!entry.isIntersecting && current.childElementCount > 0) height.current = current.offsetHeight;
        setNear(entry.isIntersecting);
      },
      { rootMargin: '600px 0px' },
    );
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={ref} style={isNear ? {} : { height: `${height.current}px` }}>
      {isNear && children()}
    </div>
  );
}

function Call({
  call,
  number,
  offsetMs,
  color,
  outputs,
  ...place
}: Place & {
  readonly call: CallLine;
  readonly number: number;
  readonly offsetMs: number;
  readonly color: string;
  readonly outputs: Outputs;
}) {
  const [texts, setTexts] = useState<CallTextsAnswer | null>(null);
  const load = async () =>
    setTexts(
      await ask<CallTextsAnswer>(`${place.path}/calls/${encodeURIComponent(call.id)}${place.asked}`).catch(
        () => null,
      ),
    );
  const [asked, output] = [texts?.asked ?? call.asked, texts?.output ?? call.output];
  return (
    <article class={isFailed(call) ? 'call failed' : 'call'} id={`call-${number}`}>
      <p class="call-head">
        <span class="quiet">+{span(offsetMs)}</span>
        <i style={{ background: color }} />
        <b>{number}</b> <b class="mono">{call.verb}</b>
        {call.tool !== call.verb && <code class="quiet">{call.tool}</code>}
        {call.exit_code !== null && call.exit_code !== 0 && <span class="bad">exit {call.exit_code}</span>}
        {call.code !== null && <code class="bad">{call.code}</code>}
        {call.code === null && call.outcome !== 'completed' && (
          <span class="bad">{call.outcome.replaceAll('_', ' ')}</span>
        )}
        <span class="end quiet">
          {span(call.took_ms)} · {bytes(call.output_bytes)}
        </span>
      </p>
      {asked === null ? (
        <p class="quiet">no process logged its command</p>
      ) : (
        <pre class="asked">{commandIn(asked.text)}</pre>
      )}
      {outputs !== 'none' && output !== null && (
        <pre class={outputs === 'some' ? 'output some' : 'output'}>{output.text}</pre>
      )}
      {texts === null && (isCut(asked) || (outputs !== 'none' && isCut(output))) && (
        <button type="button" onClick={() => void load()}>
          Show all that is kept, {whole((asked?.length ?? 0) + (output?.length ?? 0))} characters
        </button>
      )}
      {texts !== null && isLost(output) && (
        <p class="quiet">
          {whole(output.length)} of {whole(output.whole)} characters are kept.
        </p>
      )}
    </article>
  );
}

/** Of arguments that are one text, that text; a cut one, or one of several, as it was sent. */
export function commandIn(text: string): string {
  try {
    const values: unknown[] = Object.values(JSON.parse(text));
    const [only] = values;
    return values.length === 1 && typeof only === 'string' ? visibleText(only) : text;
  } catch {
    return text;
  }
}

export const isCut = (text: Excerpt | null): boolean => text !== null && text.text.length < text.length;
const isLost = (text: Excerpt | null): text is Excerpt => text !== null && text.length < text.whole;
