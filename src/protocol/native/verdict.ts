import { type Static, Type } from 'typebox';
import { Evidence } from './error.ts';
import { VerdictAnswer, nullable } from './parts.ts';

/** What a request is told of a discarded rollout, by the status of each face. */
const ToldLine = Type.Object({
  to: Type.String(),
  code: Type.String(),
  rft: Type.Number(),
  native: Type.Number(),
  retry: Type.Union([Type.Literal('yes'), Type.Literal('later'), Type.Literal('no')]),
});

/** Why a rollout is discarded. The last command is in the event log only, where `corral rollout` finds it. */
const Discard = Type.Object({
  what: Type.Array(Type.String(), { description: 'what happened, in sentences' }),
  timeline: Type.Array(Type.Object({ at: Type.String(), what: Type.String() })),
  evidence: Evidence,
  epoch: Type.Object({ before: nullable(Type.String()), after: nullable(Type.String()) }),
  admitted: nullable(Type.String({ description: 'whether the call that was cut off may have run' })),
  blame: Type.String(),
  whose: Type.String(),
  told: Type.Array(ToldLine),
});

/** What the trainer may do with a rollout, and, where it is nothing, the whole story of why. */
export const VerdictStoryAnswer = Type.Object({
  rollout_id: Type.String(),
  attempt: Type.Number(),
  run: Type.String(),
  environment: Type.String(),
  version: Type.String(),
  state: Type.String(),
  verdict: VerdictAnswer,
  score: nullable(Type.Number()),
  discard: nullable(Discard),
});
export type VerdictStoryAnswer = Static<typeof VerdictStoryAnswer>;
