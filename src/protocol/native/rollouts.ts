import { type Static, Type } from 'typebox';
import { shownSchemas } from '#src/protocol/rollout/fields.ts';
import { RequiresBody } from './requirements.ts';
import { Evidence, EpochAnswer, VerdictAnswer, nullable } from './parts.ts';

/** Kept with every rollout, whose record is 2 KB at most; what is longer than 64 B together until 40 minutes after its end. */
const maxLabels = 16;
/** No character that JSON writes with more than one byte. */
const labelPattern = '^[A-Za-z0-9 _.:/=@+-]{1,40}$';

/** Opens a rollout. Idempotent: a repeat answers 200 instead of 201. */
export const OpenBody = Type.Object(
  {
    rollout_id: Type.String(),
    attempt: Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999 })),
    environment: Type.String({ minLength: 1, description: 'name or name@version' }),
    run: Type.Optional(Type.String()),
    item: Type.Optional(nullable(Type.Record(Type.String(), Type.Unknown()))),
    group: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: "which rollouts are compared; default: the item's",
      }),
    ),
    step: Type.Optional(Type.Integer({ minimum: 0 })),
    requires: Type.Optional(RequiresBody),
    labels: Type.Optional(Type.Array(Type.String({ pattern: labelPattern }), { maxItems: maxLabels })),
    sandbox: Type.Optional(
      Type.Unknown({ description: 'refused: no environment allows overrides of its sandbox' }),
    ),
  },
  { title: 'NewRollout', additionalProperties: false },
);
export type OpenBody = Static<typeof OpenBody>;

/** Why rollouts are voided: kept with each of them. */
export const VoidText = Type.String({ minLength: 1, maxLength: 200 });

/** Voids a rollout: its task or its run was wrong. */
export const VoidBody = Type.Object(
  { reason: VoidText },
  { title: 'VoidRequest', additionalProperties: false },
);

/** One call as a rollout's own record tells it. */
const CallLine = Type.Object(
  {
    call_id: Type.String(),
    tool: Type.String(),
    state: Type.Union([Type.Literal('dispatched'), Type.Literal('settled')]),
    outcome: nullable(Type.String()),
    code: nullable(Type.String()),
    admitted: Type.String(),
    exit_code: nullable(Type.Number()),
    started_at: Type.String(),
    duration_ms: nullable(Type.Number()),
    waited_ms: Type.Number(),
    output_bytes: Type.Number(),
    sandbox: nullable(Type.String()),
  },
  { title: 'RolloutCall' },
);

const Taint = Type.Object(
  {
    code: Type.String(),
    cause: nullable(Type.String()),
    evidence: Evidence,
    at: Type.String(),
  },
  { title: 'Taint' },
);

/** A rollout in a list: everything but its calls. Times are ISO 8601. Its plain fields: `protocol/rollout/fields.ts`. */
export const RolloutLine = Type.Object(
  {
    rollout_id: Type.String(),
    attempt: Type.Number(),
    run: Type.String(),
    ...shownSchemas,
    verdict: VerdictAnswer,
    taint: nullable(Taint),
    epoch: nullable(EpochAnswer),
    step: nullable(Type.Number()),
    labels: Type.Array(Type.String()),
    in_flight: Type.Number(),
  },
  { title: 'RolloutLine' },
);
export type RolloutLine = Static<typeof RolloutLine>;

/** Why a rollout still waits for its sandbox. `count`: starts of its template that failed alike, one after another. */
const Waiting = Type.Object(
  {
    since: Type.String(),
    ahead: Type.Number(),
    last_start_failure: nullable(
      Type.Object({ code: Type.String(), message: Type.String(), count: Type.Number(), at: Type.String() }),
    ),
  },
  { title: 'Waiting' },
);

/**
 * A rollout by itself. `ahead`: rollouts before it in line, while it waits; told by an open and its repeats only. `waiting`:
 * told by a GET only.
 */
export const RolloutAnswer = Type.Object(
  {
    ...RolloutLine.properties,
    ahead: nullable(Type.Number()),
    waiting: nullable(Waiting),
    calls: Type.Array(CallLine),
  },
  { title: 'Rollout' },
);
export type RolloutAnswer = Static<typeof RolloutAnswer>;

/** What a request is told of a discarded rollout, by the status of each face. */
const ToldLine = Type.Object({
  to: Type.String(),
  code: Type.String(),
  rft: Type.Number(),
  native: Type.Number(),
  retry: Type.Union([Type.Literal('yes'), Type.Literal('later'), Type.Literal('no')]),
});

/** Why a rollout is discarded. The last command is in the event log only, where `corral rollout` finds it. */
const Discard = Type.Object(
  {
    what: Type.Array(Type.String(), { description: 'what happened, in sentences' }),
    timeline: Type.Array(Type.Object({ at: Type.String(), what: Type.String() })),
    evidence: Evidence,
    epoch: Type.Object({ before: nullable(Type.String()), after: nullable(Type.String()) }),
    admitted: nullable(Type.String({ description: 'whether the call that was cut off may have run' })),
    blame: Type.String(),
    whose: Type.String(),
    told: Type.Array(ToldLine),
  },
  { title: 'Discard' },
);

/** What the trainer may do with a rollout, and, where it is nothing, the whole story of why. */
export const VerdictStoryAnswer = Type.Object(
  {
    rollout_id: Type.String(),
    attempt: Type.Number(),
    run: Type.String(),
    environment: Type.String(),
    version: Type.String(),
    state: Type.String(),
    verdict: VerdictAnswer,
    score: nullable(Type.Number()),
    discard: nullable(Discard),
  },
  { title: 'VerdictStory' },
);
export type VerdictStoryAnswer = Static<typeof VerdictStoryAnswer>;
