import { Type } from 'typebox';
import { contract, list, Nothing, orNothing } from './contract.ts';
import { Rollout } from './shapes.ts';

const sandbox = Type.String();
const optional = Type.Optional(Type.String());

const Call = Type.Object({
  call: Type.String(),
  tool: Type.String(),
  digest: Type.String(),
  state: Type.String(),
  counted: Type.Boolean(),
});

export const recovery = {
  adopt: contract(
    { holding: Type.String(), writtenBackInto: optional },
    Type.Union([Type.Literal('adopted'), Type.Literal('already'), Type.Literal('refused')]),
  ),
  'adopted-at': contract({}, orNothing(Type.Number())),
  /** Nothing: this Redis is the fleet's. */
  'read-kept': contract(
    {},
    orNothing(
      Type.Object({
        redis: Type.String(),
        sandboxes: list(Type.Object({ sandbox, phase: optional, owner: optional })),
      }),
    ),
  ),
  'mark-lost': contract({ rollouts: Type.Array(Type.String()) }, Nothing),
  'restore-sandbox': contract(
    {
      sandbox,
      template: Type.String(),
      verdict: Type.Union([Type.Literal('ready'), Type.Literal('unsure'), Type.Literal('gone')]),
      boot: optional,
      address: optional,
      rollout: optional,
    },
    orNothing(Rollout),
  ),
  'restore-rollout': contract(
    {
      id: Type.String(),
      sandbox,
      template: Type.String(),
      boot: Type.String(),
      address: Type.String(),
      /** What lives in the sandbox by its own word: protocol/rollout/label.ts. */
      label: Type.Unknown(),
      /** The same as fields and texts, alternating. */
      kept: Type.Array(Type.String()),
      expiresInMs: Type.Integer(),
      dispatched: Type.Boolean(),
      calls: Type.Array(Call),
    },
    Type.Union([
      Type.Literal('live'),
      Type.Literal('given_up'),
      Type.Literal('late'),
      Type.Literal('two_lives'),
      Type.Object({ lost: Rollout }),
    ]),
  ),
};
