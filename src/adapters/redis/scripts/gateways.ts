import { Type } from 'typebox';
import { contract, list, Nothing, orNothing } from './contract.ts';
import { Rollout } from './shapes.ts';

const gateway = Type.String();
const request = Type.String();
const key = Type.String();
const evidence = Type.String();

export const gateways = {
  'appear-gateway': contract({ gateway }, Nothing),
  'begin-gateway': contract(
    { gateway, sinceMs: Type.Optional(Type.Number()) },
    Type.Union([
      Type.Object({ kind: Type.Literal('joined'), atMs: Type.Number() }),
      Type.Object({
        kind: Type.Union([Type.Literal('alone'), Type.Literal('unsure')]),
        atMs: Type.Number(),
        sinceMs: Type.Number(),
      }),
    ]),
  ),
  'sweep-requests': contract(
    { cursor: Type.String(), beforeMs: Type.Number(), evidence },
    Type.Object({ cursor: Type.Optional(Type.String()), lost: list(Rollout) }),
  ),
  'keep-gateway': contract({ gateway }, list(Rollout)),
  'enter-request': contract({ gateway, request, key }, Nothing),
  'leave-request': contract({ gateway, request, key }, Nothing),
  'lose-request': contract({ key, evidence, suspected: Type.Optional(Type.String()) }, orNothing(Rollout)),
  'end-gateway': contract({ gateway }, Nothing),
};
