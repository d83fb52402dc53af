import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { isKeyId } from '#src/model/ids.ts';
import { type Owner, ownerOf } from '#src/model/rollout.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import type { Wanted } from '#src/protocol/fleet/events.ts';

/*
 * A line of the log as an event. Lines also come from files of others and over the wire, between lines that are none of
 * ours: what is not whole, or has another shape, is no event. A version that tells more is understood.
 */

const nullable = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);

const Scalars = Type.Record(
  Type.String(),
  nullable(Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
);
const ofRollout = {
  atMs: Type.Number(),
  key: Type.String(),
  environment: Type.String(),
  version: Type.String(),
};
const Summary = Type.Object({
  call: Type.String(),
  tool: Type.String(),
  outcome: nullable(Type.String()),
  code: nullable(Type.String()),
  admitted: Type.String(),
  exitCode: nullable(Type.Number()),
  startedAtMs: Type.Number(),
  durationMs: nullable(Type.Number()),
  waitedMs: Type.Number(),
  outputBytes: Type.Number(),
});
const Suspected = nullable(
  Type.Union([Type.Literal('command'), Type.Literal('answer'), Type.Literal('dependency')]),
);
const Verdict = Type.Union([
  Type.Object({ kind: Type.Literal('scorable') }),
  Type.Object({ kind: Type.Literal('discard'), code: Type.String(), cause: Type.Optional(Type.String()) }),
]);

const Texts = Type.Record(Type.String(), Type.String());
const Why = Type.Object({
  itemId: nullable(Type.String()),
  item: Type.String(),
  answer: Texts,
  reference: Texts,
  parts: Type.Array(
    Type.Object({ part: Type.String(), score: nullable(Type.Number()), reason: Type.String() }),
  ),
  stderr: Type.String(),
});

const eventCheck = Compile(
  Type.Union([
    Type.Object({
      ...ofRollout,
      kind: Type.Literal('call_settled'),
      summary: Summary,
      epoch: nullable(Type.Object({ sandbox: Type.String(), boot: Type.String() })),
      lastCommand: Type.String(),
      evidence: Scalars,
      backend: Type.Optional(
        Type.Union([Type.Literal('failed'), Type.Literal('good'), Type.Literal('undecided')]),
      ),
    }),
    Type.Object({
      ...ofRollout,
      kind: Type.Literal('lost_command'),
      call: Type.String(),
      command: Type.String(),
    }),
    Type.Object({
      ...ofRollout,
      kind: Type.Literal('verdict'),
      verdict: Verdict,
      score: nullable(Type.Number()),
      suspected: Suspected,
      evidence: Scalars,
      why: Type.Optional(Why),
    }),
    Type.Object({ ...ofRollout, kind: Type.Literal('rollout_voided'), reason: Type.String() }),
    Type.Object({
      ...ofRollout,
      kind: Type.Literal('rollout_closed'),
      by: Type.Union([Type.Literal('finished'), Type.Literal('deleted')]),
    }),
  ]),
);

/** Fifty times what the largest event has. */
const longestEvent = 256 * 1024;

/** What happened to a rollout; null: the line is nothing of the kind. Versions that told no key are understood. */
export function parseEvent(line: string): RolloutEvent | null {
  if (line.length > longestEvent) return null;
  const value = parseJson(line);
  if (!eventCheck.Check(value) || ownerOfKey(value.key) === null) return null;
  const keyId = 'keyId' in value && typeof value.keyId === 'string' ? value.keyId : null;
  return { ...(value as RolloutEvent), keyId: keyId !== null && isKeyId(keyId) ? keyId : null };
}

export function isWanted({ key }: RolloutEvent, wanted: Wanted): boolean {
  const owner = ownerOfKey(key);
  return (
    owner !== null &&
    (['tenant', 'run', 'rollout'] as const).every((part) => (wanted[part] ?? owner[part]) === owner[part])
  );
}

function ownerOfKey(key: string): Owner | null {
  try {
    return ownerOf(key as RolloutEvent['key']);
  } catch {
    return null;
  }
}

/** Null for what is none: a crash cut it off, or somebody else wrote it. */
export function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/** A thousand times what an event has: what is longer is none of ours. */
const longestKept = 1024 * 1024;

/** Text that comes in pieces as lines. One that has no end is thrown away as it comes, so that no more than one is kept. */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  longest = longestKept,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let isLost = false;
  for await (const chunk of chunks) {
    const [first = '', ...more] = decoder.decode(chunk, { stream: true }).split('\n');
    rest += first;
    for (const next of more) {
      if (!isLost) yield rest;
      isLost = false;
      rest = next;
    }
    if (rest.length > longest) isLost = true;
    if (isLost) rest = '';
  }
  if (!isLost && rest !== '') yield rest;
}
