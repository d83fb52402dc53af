import { Type } from 'typebox';
import { contract } from './contract.ts';
import { Rollout } from './shapes.ts';

export const replays = {
  /** `step` replies raw what is to be sent. */
  'replay-setup': contract(
    {
      key: Type.String(),
      generation: Type.Integer(),
      ended: Type.Optional(Type.Object({ step: Type.Integer(), digest: Type.String() })),
    },
    Type.Union([
      Type.Object({ kind: Type.Literal('step'), step: Type.Integer(), call: Type.String() }),
      Type.Object({ kind: Type.Literal('done') }),
      Type.Object({ kind: Type.Literal('over') }),
      Type.Object({ kind: Type.Literal('lost'), rollout: Rollout }),
    ]),
  ),
};
