import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallLine, CallTextsAnswer, Excerpt } from '#src/protocol/console/rollout.ts';
import { ask } from '../ui/api.ts';
import { visibleText } from '../ui/door.ts';
import { useFound } from '../ui/found-calls.ts';
import { goToSearch, useKeys } from '../ui/keys.ts';
import { SearchField } from '../ui/search-field.tsx';
import { bytes, count, span, whole } from '../ui/text.ts';
import { colorsOf, isFailed, Outline } from './outline.tsx';

type Place = { readonly path: string; readonly asked: string };

/** A rollout may have thousands: blocks that are not on the screen are one empty box each. */
const blockLength = 40;
const usualHeight = 90;

const choices = ['none', 'some', 'all'] as const;
type Outputs = (typeof choices)[number];

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
  const [text, setText] = useState('');
  useKeys((event) => {
    if (event.key === 'e') setOutputs((now) => choices[(choices.indexOf(now) + 1) % choices.length] ?? now);
    goToSearch(event);
  });
  const shown = useFound(calls, text, place);
  const colors = colorsOf(calls);
  const blocks = Array.from({ length: Math.ceil(shown.length / blockLength) }, (_, at) => at * blockLength);
  const unkept = calls.filter(({ output }) => output === null).length;
  return (
    <section class="card" aria-label="Calls">
      <div class="filters">
        <h2>Calls</h2>
        <span class="segments" role="group" aria-label="Outputs">
          {choices.map((choice) => (
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
        <SearchField
          text={text}
          what={{ label: 'Search calls by command or output', hint: 'command or output' }}
          choose={setText}
        />
        {text.trim() !== '' && (
          <span class="quiet" role="status">
            {shown.length} of {count(calls.length, 'call')}
          </span>
        )}
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
          <Block key={from} length={Math.min(blockLength, shown.length - from)} isFirst={from === 0}>
            {() =>
              shown
                .slice(from, from + blockLength)
                .map(({ call, number }) => (
                  <Call
                    key={call.id}
                    call={call}
                    number={number}
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
