import { type Static, Type } from 'typebox';

/** Which process answers at its port. */
export const ConsoleHealth = Type.Object({ status: Type.Literal('ok'), pid: Type.Integer() });
export type ConsoleHealth = Static<typeof ConsoleHealth>;

/** Who is logged in, and what the key may read. */
export const SessionAnswer = Type.Object({
  key: Type.String(),
  tenant: Type.String(),
  scopes: Type.Array(Type.String()),
  version: Type.String(),
});
export type SessionAnswer = Static<typeof SessionAnswer>;

const longestKey = 512;

/** A key, or the code that `corral up` printed. */
export const LoginBody = Type.Union([
  Type.Object({ key: Type.String({ minLength: 1, maxLength: longestKey }) }, { additionalProperties: false }),
  Type.Object(
    { code: Type.String({ minLength: 1, maxLength: longestKey }) },
    { additionalProperties: false },
  ),
]);
export type LoginBody = Static<typeof LoginBody>;
