import { Type } from 'typebox';
import { contract, Nothing } from './contract.ts';

const ticket = Type.Integer();
/** JSON. */
const evidence = Type.Optional(Type.String());
const ofGuard = { key: Type.String(), name: Type.String(), every: Type.Integer() };

export const guards = {
  'ask-guard': contract(
    { ...ofGuard, ticket: Type.Optional(ticket), by: Type.String(), leaseMs: Type.Integer() },
    Type.Object({
      kind: Type.Union([
        Type.Literal('pass'),
        Type.Literal('check'),
        Type.Literal('wait'),
        Type.Literal('suspect'),
      ]),
      ticket,
      evidence,
    }),
  ),
  'conclude-guard': contract(
    {
      ...ofGuard,
      ticket,
      said: Type.Union([Type.Literal('right'), Type.Literal('wrong'), Type.Literal('no_evidence')]),
      evidence,
    },
    Nothing,
  ),
};
