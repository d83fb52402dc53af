import { Type } from 'typebox';
import { nullable } from './parts.ts';
import { RolloutLine } from './rollouts.ts';

const Counts = Type.Record(Type.String(), Type.Number());

export const RolloutsQuery = Type.Object(
  {
    verdict: Type.Optional(Type.Union([Type.Literal('scorable'), Type.Literal('discard')])),
    code: Type.Optional(Type.String()),
    cursor: Type.Optional(Type.String({ maxLength: 512 })),
  },
  { additionalProperties: false },
);

export const RolloutsAnswer = Type.Object({
  rollouts: Type.Array(RolloutLine),
  cursor: nullable(Type.String()),
});

/** The rollouts of one item in one wave; reward figures are over what was scored, never over discards. */
const GroupLine = Type.Object({
  item: Type.String(),
  wave: Type.Number(),
  n: Type.Number(),
  scored: Type.Number(),
  discarded: Type.Number(),
  mean: nullable(Type.Number()),
  best: nullable(Type.Number()),
  spread: nullable(Type.Number()),
});

export const RunAnswer = Type.Object({
  run: Type.String(),
  state: Type.Union([Type.Literal('open'), Type.Literal('closed')]),
  rollouts: Type.Number(),
  open: Type.Number(),
  scored: Type.Number(),
  discarded: Type.Number(),
  calls: Counts,
  blame: Counts,
  codes: Counts,
  groups: Type.Array(GroupLine),
});

export const RunsAnswer = Type.Object({ runs: Type.Array(Type.String()) });
export const RunHeartbeatAnswer = Type.Object({ run: Type.String(), state: Type.Literal('open') });

/** `left`: rollouts still to be released; ask again until it is 0. */
export const RunCloseAnswer = Type.Object({ run: Type.String(), left: Type.Number() });
