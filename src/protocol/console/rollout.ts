import { type Static, Type } from 'typebox';
import { MissingLog, nullable, NumberOrNull, TextOrNull } from './parts.ts';

/** The beginning of a text. `length`: of what is kept of it; `whole`: of all that there was, in the unit of its source. */
export const Excerpt = Type.Object({ text: Type.String(), length: Type.Number(), whole: Type.Number() });
export type Excerpt = Static<typeof Excerpt>;

const CallLine = Type.Object({
  id: Type.String(),
  tool: Type.String(),
  verb: Type.String(),
  started_at_ms: Type.Number(),
  took_ms: NumberOrNull,
  waited_ms: Type.Number(),
  outcome: Type.String(),
  code: TextOrNull,
  blame: TextOrNull,
  exit_code: NumberOrNull,
  output_bytes: Type.Number(),
  /** Null: no process logged it. */
  asked: nullable(Excerpt),
  /** Null: it is not kept. */
  output: nullable(Excerpt),
});
export type CallLine = Static<typeof CallLine>;

/** A copy: a rollout of the same item in the same step. */
const CopyLine = Type.Object({
  id: Type.String(),
  attempt: Type.Number(),
  score: NumberOrNull,
  code: TextOrNull,
  calls: Type.Number(),
});
export type CopyLine = Static<typeof CopyLine>;

/** The truth of a dataset row: only for keys of scope `admin` or `truth`. */
const Why = Type.Object({
  item: Type.String(),
  answer: Type.Record(Type.String(), Type.String()),
  reference: Type.Record(Type.String(), Type.String()),
  parts: Type.Array(Type.Object({ part: Type.String(), score: NumberOrNull, reason: Type.String() })),
  stderr: Type.String(),
});
export type Why = Static<typeof Why>;

/** What fleet state remembers of it for some hours. */
const Remembered = Type.Object({
  state: Type.String(),
  step: NumberOrNull,
  labels: Type.Array(Type.String()),
  placed_at_ms: Type.Number(),
  claimed_at_ms: NumberOrNull,
  active_at_ms: NumberOrNull,
  closed_at_ms: NumberOrNull,
});
export type Remembered = Static<typeof Remembered>;

export const ConsoleRolloutAnswer = Type.Object({
  run: Type.String(),
  id: Type.String(),
  attempt: Type.Number(),
  environment: Type.String(),
  version: Type.String(),
  step: Type.Number(),
  item: TextOrNull,
  opened_at_ms: Type.Number(),
  ended_at_ms: NumberOrNull,
  score: NumberOrNull,
  gain: NumberOrNull,
  sandbox: TextOrNull,
  closed_by: TextOrNull,
  void_reason: TextOrNull,
  discard: nullable(
    Type.Object({ code: Type.String(), cause: TextOrNull, blame: Type.String(), suspected: TextOrNull }),
  ),
  evidence: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
  group: Type.Array(CopyLine),
  calls: Type.Array(CallLine),
  why: nullable(Why),
  /** Whether the key may read `why`. */
  reads_truth: Type.Boolean(),
  remembered: nullable(Remembered),
  /** Where texts of calls are looked for, and what of it could not be read. */
  texts: Type.Object({ place: Type.String(), unreadable: Type.Array(Type.String()) }),
  missing: Type.Array(MissingLog),
});
export type ConsoleRolloutAnswer = Static<typeof ConsoleRolloutAnswer>;

/** All that is kept of what a call asked for and returned. */
export const CallTextsAnswer = Type.Object({ asked: nullable(Excerpt), output: nullable(Excerpt) });
export type CallTextsAnswer = Static<typeof CallTextsAnswer>;

/** Calls of one rollout with a text in what they asked for or returned, as far as it is kept. */
export const CallSearchAnswer = Type.Object({ calls: Type.Array(Type.String()) });
export type CallSearchAnswer = Static<typeof CallSearchAnswer>;
