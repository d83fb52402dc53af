import { Type } from 'typebox';
import { contract, Nothing } from './contract.ts';

export const aliases = {
  /** Raw: what the name stands for under this tag. False: there are as many names, or tags of the name, as there may be. */
  'name-image': contract(
    {
      tenant: Type.String(),
      alias: Type.String(),
      tag: Type.String(),
      most: Type.Integer(),
      mostBytes: Type.Integer(),
      keptMs: Type.Integer(),
    },
    Type.Boolean(),
  ),
  /** Replies raw what the name stands for under its usual tag, and all its other tags. */
  'named-image': contract({ tenant: Type.String(), alias: Type.String(), keptMs: Type.Integer() }, Nothing),
};
