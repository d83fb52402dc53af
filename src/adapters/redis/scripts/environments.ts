import { Type } from 'typebox';
import { contract, Nothing, orNothing } from './contract.ts';

const keptMs = Type.Integer();

export const environments = {
  /** Raw: the environment. `isNew`: the previous release must not use it. */
  'publish-environment': contract({ version: Type.String(), isNew: Type.Boolean(), keptMs }, Nothing),
  /** Replies raw the environment, if it is kept. */
  'load-environment': contract({ version: Type.String(), keptMs }, Nothing),
  /** Replies raw the environments whose versions begin so. */
  'list-environments': contract({ beginning: Type.String(), keptMs }, Nothing),
  'pin-version': contract(
    { run: Type.String(), environment: Type.String(), version: Type.String() },
    Type.String(),
  ),
  /** Raw: the catalog. */
  'publish-catalog': contract({ catalog: Type.String(), keptMs }, Nothing),
  /** Replies raw the catalog, if it is kept. */
  'load-catalog': contract({ catalog: Type.String() }, Nothing),
  /** Nothing: the catalog is not kept, and is to be published. */
  'hold-catalog': contract(
    {
      holder: Type.String(),
      catalog: Type.Optional(Type.String()),
      sinceMs: Type.Optional(Type.Number()),
      silentMs: Type.Integer(),
      keptMs,
    },
    orNothing(Type.Object({ newest: Type.Optional(Type.String()), sinceMs: Type.Optional(Type.Number()) })),
  ),
};
