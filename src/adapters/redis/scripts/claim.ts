import { Type } from 'typebox';
import { contract } from './contract.ts';
import { Claimed } from './shapes.ts';

/** A new rollout that got its sandbox at once. The reply leaves out what the claim itself says. */
const Created = Type.Object({
  kind: Type.Literal('created'),
  wave: Type.Integer(),
  atMs: Type.Number(),
  sandbox: Type.String(),
  boot: Type.String(),
  address: Type.String(),
});

/** To be asked for again by itself. */
const Apart = Type.Object({ kind: Type.Literal('apart') });

export const claim = {
  /** Raw: the dataset row of each kind. Replies in the order of the claims. */
  claim: contract(
    {
      rowBytesMax: Type.Integer(),
      kinds: Type.Array(
        Type.Object({
          fields: Type.Record(Type.String(), Type.String()),
          recordOnly: Type.Boolean(),
          turn: Type.Optional(Type.Integer()),
        }),
      ),
      claims: Type.Array(Type.Object({ key: Type.String(), kind: Type.Integer() })),
    },
    Type.Array(Type.Union([Created, Apart, ...Claimed.anyOf])),
  ),
};
