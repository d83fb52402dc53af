import { Type } from 'typebox';
import { contract, list, Nothing } from './contract.ts';
import { Rollout } from './shapes.ts';

const sandbox = Type.String();

/** `Sandbox.knownRow` of lib/sandbox.lua; one that is forgotten has its name alone. */
const KnownSandbox = Type.Object({
  sandbox,
  phase: Type.Optional(Type.String()),
  sinceMs: Type.Optional(Type.Number()),
  owner: Type.Optional(Type.String()),
  template: Type.Optional(Type.String()),
  journalUnread: Type.Optional(Type.Literal(true)),
});

export const sandboxes = {
  /** Without names: all of the fleet. */
  'known-sandboxes': contract({ sandboxes: Type.Optional(Type.Array(sandbox)) }, list(KnownSandbox)),
  'moved-sandboxes': contract(
    { place: Type.String(), portion: Type.Integer() },
    Type.Object({
      place: Type.String(),
      startsOver: Type.Boolean(),
      isWhole: Type.Boolean(),
      isBehind: Type.Boolean(),
      sandboxes: list(KnownSandbox),
    }),
  ),
  'take-errands': contract({ errand: Type.String(), sandboxes: Type.Array(sandbox) }, list(sandbox)),
  draining: contract({ limit: Type.Integer() }, list(sandbox)),
  forget: contract({ sandbox }, Nothing),
  'withdraw-sandbox': contract({ sandbox, why: Type.String() }, Type.Boolean()),
  lose: contract(
    {
      sandbox,
      boot: Type.Optional(Type.String()),
      cause: Type.String(),
      evidence: Type.String(),
      /** Only the sandbox says so. */
      bySandbox: Type.Boolean(),
      brokenReason: Type.Optional(Type.String()),
    },
    Type.Union([
      Type.Object({ kind: Type.Literal('none') }),
      Type.Object({
        kind: Type.Union([Type.Literal('swapped'), Type.Literal('tainted'), Type.Literal('broken')]),
        rollout: Rollout,
      }),
    ]),
  ),
};
