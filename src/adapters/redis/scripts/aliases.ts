import { Type } from 'typebox';
import { contract, Nothing } from './contract.ts';

export const aliases = {
  /** Raw: what the name stands for. False: the tenant has as many as it may have. */
  'name-image': contract(
    { tenant: Type.String(), alias: Type.String(), most: Type.Integer(), keptMs: Type.Integer() },
    Type.Boolean(),
  ),
  /** Replies raw what the name stands for. */
  'named-image': contract({ tenant: Type.String(), alias: Type.String(), keptMs: Type.Integer() }, Nothing),
};
