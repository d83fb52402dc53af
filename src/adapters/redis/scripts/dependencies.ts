import { Type } from 'typebox';
import { contract, list, Nothing } from './contract.ts';

const probe = Type.String();
const key = Type.String();

export const dependencies = {
  'count-dependent-call': contract({ probe, key }, Nothing),
  'take-probe-turn': contract(
    { probe, everyMs: Type.Integer() },
    Type.Object({ isMine: Type.Boolean(), nowMs: Type.Integer(), nextInMs: Type.Integer() }),
  ),
  /** Without `failed` it was good. */
  'record-probe': contract(
    { probe, beganAtMs: Type.Integer(), failed: Type.Optional(Type.String()) },
    Nothing,
  ),
  'read-probes': contract(
    { probe, key, sinceMs: Type.Integer() },
    Type.Object({
      nowMs: Type.Integer(),
      results: list(
        Type.Object({
          beganAtMs: Type.Integer(),
          endedAtMs: Type.Integer(),
          failed: Type.Optional(Type.String()),
        }),
      ),
      goodAtMs: Type.Optional(Type.Integer()),
      recoveredAtMs: Type.Optional(Type.Integer()),
      ofRun: Type.Integer(),
      ofAll: Type.Integer(),
    }),
  ),
};
