import { type Static, Type } from 'typebox';
import { contract, list, orNothing } from './contract.ts';
import { Claimed } from './shapes.ts';

/** How many are served before a rollout, and the last start of its template that failed. */
const Place = Type.Object({
  ahead: Type.Integer(),
  lastFailure: Type.Optional(
    Type.Object({ code: Type.String(), message: Type.String(), alike: Type.Integer(), atMs: Type.Number() }),
  ),
});
export type Place = Static<typeof Place>;

export const waiting = {
  /** Nothing of a rollout that does not stand in line. */
  place: contract({ key: Type.String() }, orNothing(Place)),
  /** Replies those that do not just wait any more. */
  renew: contract({ rollouts: Type.Array(Type.String()) }, list(Type.String())),
  swap: contract(
    { key: Type.String(), generation: Type.Integer(), reason: Type.String(), evidence: Type.String() },
    orNothing(Claimed),
  ),
  /** Replies how many. */
  'take-back-grants': contract({ afterMs: Type.Integer() }, Type.Integer()),
};
