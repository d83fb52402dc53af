import { Type } from 'typebox';
import { contract, list, Nothing, orNothing } from './contract.ts';
import { Rollout } from './shapes.ts';

const gateway = Type.String();
const key = Type.String();
const evidence = Type.String();

export const gateways = {
  'appear-gateway': contract({ gateway }, Nothing),
  'begin-gateway': contract(
    { gateway, openMs: Type.Number() },
    Type.Object({
      kind: Type.Union([Type.Literal('joined'), Type.Literal('alone'), Type.Literal('unsure')]),
      atMs: Type.Number(),
    }),
  ),
  'sweep-requests': contract(
    { cursor: Type.String(), beforeMs: Type.Number(), evidence },
    Type.Object({ cursor: Type.Optional(Type.String()), lost: list(Rollout) }),
  ),
  'keep-gateway': contract(
    { gateway, inHand: Type.Optional(Type.Array(key)), leavingMs: Type.Optional(Type.Number()) },
    Type.Object({ isForgotten: Type.Boolean(), isHeard: Type.Boolean(), lost: list(Rollout) }),
  ),
  'enter-request': contract({ gateway, key }, Nothing),
  'leave-request': contract({ gateway, key }, Nothing),
  'lose-request': contract({ key, evidence, bySandbox: Type.Boolean() }, orNothing(Rollout)),
  'end-gateway': contract({ gateway }, Nothing),
};
