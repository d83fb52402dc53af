import { Type } from 'typebox';
import { contract, Nothing } from './contract.ts';
import { Rollout } from './shapes.ts';

const key = Type.String();
const turn = Type.Integer();
/** As JavaScript prints it: Lua's own number of digits would round it. */
const score = Type.String();

export const grading = {
  'begin-grade': contract(
    {
      key,
      by: Type.String(),
      gradeMs: Type.Integer(),
      inSandbox: Type.Boolean(),
      seenIn: Type.Optional(Type.String()),
    },
    Type.Union([
      Type.Object({ kind: Type.Literal('run'), turn, rollout: Rollout }),
      Type.Object({
        kind: Type.Literal('wait'),
        on: Type.Union([Type.Literal('calls'), Type.Literal('grader'), Type.Literal('journal')]),
      }),
      Type.Object({ kind: Type.Literal('scored'), score, rollout: Rollout }),
      Type.Object({ kind: Type.Literal('waiting') }),
      /** `first`: all turns were used up, and this has discarded the rollout. */
      Type.Object({
        kind: Type.Literal('barred'),
        code: Type.String(),
        first: Type.Boolean(),
        rollout: Type.Optional(Rollout),
      }),
    ]),
  ),
  'store-score': contract(
    { key, turn, score, detail: Type.String() },
    Type.Union([
      Type.Object({ kind: Type.Literal('first'), score }),
      Type.Object({ kind: Type.Literal('later'), score }),
      Type.Object({ kind: Type.Literal('forgotten') }),
      Type.Object({ kind: Type.Literal('barred'), code: Type.String() }),
    ]),
  ),
  'fail-grade': contract(
    {
      key,
      turn,
      evidence: Type.String(),
      suspected: Type.Optional(Type.String()),
      bySandbox: Type.Boolean(),
    },
    Type.Object({ turnsLeft: Type.Integer(), rollout: Type.Optional(Rollout) }),
  ),
  /** `first`: this has discarded it. */
  'discard-rollout': contract(
    {
      key,
      why: Type.Union([Type.Literal('unseen'), Type.Literal('distrust')]),
      turn: Type.Optional(turn),
      code: Type.String(),
      evidence: Type.String(),
    },
    Type.Object({ first: Type.Boolean(), rollout: Type.Optional(Rollout) }),
  ),
  'artifacts-taken': contract({ key, turn }, Nothing),
  'release-grader': contract({ grader: Type.String(), turn }, Nothing),
};
