import type { CallLine } from '#src/protocol/console/rollout.ts';
import { verbColor } from '../ui/text.ts';

const mostMarks = 300;

export function colorsOf(calls: readonly CallLine[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { verb } of calls) counts.set(verb, (counts.get(verb) ?? 0) + 1);
  const inOrder = [...counts].toSorted(([, one], [, other]) => other - one);
  return new Map(inOrder.map(([verb], place) => [verb, verbColor(place)]));
}

/** A mark for each call, or for each of so many parts of them. */
export function Outline({
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

export const isFailed = ({ blame }: CallLine): boolean => blame !== null;
