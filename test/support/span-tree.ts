import type { ReceivedSpan } from './otlp-receiver.ts';

/** What of a span's attributes a person who reads the tree wants beside its name. */
const shown = [
  'tool',
  'environment',
  'launch',
  'ahead',
  'outcome',
  'verdict',
  'code',
  'blame',
  'cause',
  'effect',
  'reason',
];

/**
 * The spans of one trace as a tree, each part under its parent in the order of their starts: its name, when it began
 * within the trace, how long it took. `times: false` leaves only names, which are the same in every run.
 */
export function printTree(spans: readonly ReceivedSpan[], { times }: { readonly times: boolean }): string {
  const originMs = Math.min(...spans.map(({ startMs }) => startMs));
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const partsOf = (parent: string | null) =>
    spans
      .filter(({ parentSpanId }) => (ids.has(parentSpanId) ? parentSpanId : null) === parent)
      .toSorted((a, b) => a.startMs - b.startMs || b.endMs - a.endMs);
  const lines: string[] = [];
  const draw = (span: ReceivedSpan, first: string, below: string): void => {
    lines.push(times ? lineOf(span, first, originMs) : `${first}${span.name}`);
    const parts = partsOf(span.spanId);
    parts.forEach((part, index) => {
      const isLast = index === parts.length - 1;
      draw(part, below + (isLast ? '└─ ' : '├─ '), below + (isLast ? '   ' : '│  '));
    });
  };
  for (const root of partsOf(null)) draw(root, '', '');
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function lineOf({ name, startMs, endMs, attributes }: ReceivedSpan, first: string, originMs: number): string {
  const told = shown.flatMap((key) => {
    const value = attributes[`corral.${key}`];
    return value === undefined ? [] : [`${key}=${String(value)}`];
  });
  const [at, took] = [startMs - originMs, endMs - startMs].map((ms) => ms.toFixed(1).padStart(8));
  return `${`${first}${name}`.padEnd(28)}${at} ms ${took} ms  ${told.join(' ')}`;
}
