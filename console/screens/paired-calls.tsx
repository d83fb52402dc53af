import type { CallLine, ConsoleRolloutAnswer } from '#src/protocol/console/rollout.ts';
import type { Pair } from '../ui/align.ts';
import { bytes, whole } from '../ui/text.ts';
import { Block, commandIn, isCut } from './calls.tsx';

export type Sides = { readonly left: ConsoleRolloutAnswer; readonly right: ConsoleRolloutAnswer };
export type Side = 'left' | 'right';

/** Time to align grows with the product of both lengths. */
const mostAligned = 1_000;

/** What makes two calls the same; null: no process logged what it asked for. */
export const namesOf = (calls: readonly CallLine[]): readonly (string | null)[] =>
  calls
    .slice(0, mostAligned)
    .map(({ tool, asked }) =>
      asked === null ? null : JSON.stringify([tool, asked.text, asked.length, asked.whole]),
    );

export function isCommon(left: ConsoleRolloutAnswer, right: ConsoleRolloutAnswer, [at, to]: Pair): boolean {
  if (at === null || to === null) return false;
  const [[one], [other]] = [namesOf(left.calls.slice(at, at + 1)), namesOf(right.calls.slice(to, to + 1))];
  return one !== null && one === other;
}

/** Blocks that are not on the screen are one empty box each. */
const blockLength = 40;

export function Pairs({ left, right, pairs }: Sides & { readonly pairs: readonly Pair[] }) {
  const parting = pairs.findIndex((pair) => !isCommon(left, right, pair));
  const blocks = Array.from({ length: Math.ceil(pairs.length / blockLength) }, (_, at) => at * blockLength);
  return (
    <div class="calls-list">
      {blocks.map((from) => (
        <Block key={from} length={Math.min(blockLength, pairs.length - from)} isFirst={from === 0}>
          {() =>
            pairs
              .slice(from, from + blockLength)
              .map((pair, at) => (
                <PairOfCalls
                  key={pair.join(' ')}
                  left={left}
                  right={right}
                  pair={pair}
                  isParting={from + at === parting}
                />
              ))
          }
        </Block>
      ))}
    </div>
  );
}

function PairOfCalls({
  left,
  right,
  pair,
  isParting,
}: Sides & { readonly pair: Pair; readonly isParting: boolean }) {
  const isBoth = isCommon(left, right, pair);
  const [at, to] = pair;
  const isFirst = (at ?? 0) + (to ?? 0) === 0;
  return (
    <>
      {isParting && (
        <p class="parting">
          {isFirst ? 'They go different ways from the first call.' : 'From here they go different ways.'}
        </p>
      )}
      <div class={isBoth ? 'pair same' : 'pair'}>
        <OneCall call={callAt(left, at)} number={at} side="left" isBoth={isBoth} />
        <OneCall call={callAt(right, to)} number={to} side="right" isBoth={isBoth} />
      </div>
    </>
  );
}

const callAt = ({ calls }: ConsoleRolloutAnswer, at: number | null): CallLine | null =>
  at === null ? null : (calls[at] ?? null);

function OneCall({
  call,
  number,
  side,
  isBoth,
}: {
  readonly call: CallLine | null;
  readonly number: number | null;
  readonly side: Side;
  readonly isBoth: boolean;
}) {
  if (call === null || number === null) return <div class="none" />;
  const { asked } = call;
  return (
    <div class={call.blame === null ? 'half' : 'half failed'}>
      <p class="call-head">
        <span class="sr">{side}:</span>
        <b>{number + 1}</b> <b class="mono">{call.verb}</b>
        {isBoth && <span class="quiet">{isCut(asked) ? 'both, as far as shown' : 'both'}</span>}
        {call.exit_code !== null && call.exit_code !== 0 && <span class="bad">exit {call.exit_code}</span>}
        {call.code !== null && <code class="bad">{call.code}</code>}
        <span class="end quiet">{bytes(call.output_bytes)}</span>
      </p>
      {asked === null ? (
        <p class="quiet">no process logged its command</p>
      ) : (
        <pre class="asked">{commandIn(asked.text)}</pre>
      )}
    </div>
  );
}

export function LeftOut({ left, right }: Sides) {
  const most = Math.max(left.calls.length, right.calls.length);
  return most <= mostAligned ? null : (
    <p class="banner">Only the first {whole(mostAligned)} calls of each are compared.</p>
  );
}
