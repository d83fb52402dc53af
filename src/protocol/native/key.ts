import { type Static, Type } from 'typebox';

/** What the key of the request may do; never the key itself. */
export const KeyAnswer = Type.Object(
  {
    key: Type.String({ description: 'its public id' }),
    tenant: Type.String(),
    scopes: Type.Array(Type.String()),
  },
  { title: 'KeyGrant' },
);
export type KeyAnswer = Static<typeof KeyAnswer>;
