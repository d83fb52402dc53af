import { Type } from 'typebox';
import { contract, list, orNothing } from './contract.ts';
import { Claimed } from './shapes.ts';

export const waiting = {
  /** Replies those that do not just wait any more. */
  renew: contract({ rollouts: Type.Array(Type.String()) }, list(Type.String())),
  swap: contract(
    { key: Type.String(), generation: Type.Integer(), reason: Type.String(), evidence: Type.String() },
    orNothing(Claimed),
  ),
  /** Replies how many. */
  'take-back-grants': contract({ afterMs: Type.Integer() }, Type.Integer()),
};
