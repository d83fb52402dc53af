import { Type } from 'typebox';
import { contract, orNothing } from './contract.ts';

/** Tenant, environment version and task. */
const name = Type.String();
/** `facts`: JSON, of which scripts know nothing. */
const Known = Type.Object({ standing: Type.String(), facts: Type.Optional(Type.String()) });

export const controls = {
  'read-control': contract({ name }, orNothing(Known)),
  /** `standing`: a recorded one, `play` or `wait`. */
  'ask-control': contract(
    { name, holder: Type.String(), leaseMs: Type.Integer(), again: Type.Boolean() },
    Known,
  ),
  /** Without `found` the lease is given back. */
  'conclude-control': contract(
    { name, holder: Type.String(), found: Type.Optional(Type.String()), facts: Type.String() },
    Known,
  ),
};
