import { Type } from 'typebox';
import { contract, list, orNothing } from './contract.ts';
import { Rollout } from './shapes.ts';

const run = Type.String();
const number = Type.Optional(Type.String({ title: 'a number, with all of its digits' }));

export const reports = {
  'report-run': contract(
    { run },
    orNothing(
      Type.Object({
        /** Names and values, alternating. */
        counters: Type.Array(Type.String()),
        open: Type.Integer(),
        items: list(Type.String()),
      }),
    ),
  ),
  'report-groups': contract(
    { run, items: Type.Array(Type.String()) },
    list(
      Type.Object({
        item: Type.String(),
        wave: Type.Integer(),
        n: number,
        scored: number,
        discarded: number,
        /** Discards by code. One that an earlier release counted is not here. */
        codes: Type.Record(Type.String(), Type.Integer()),
        voided: number,
        mean: number,
        best: number,
        m2: number,
      }),
    ),
  ),
  'list-rollouts': contract(
    {
      run,
      verdict: Type.Optional(Type.String()),
      code: Type.Optional(Type.String()),
      item: Type.Optional(Type.String()),
      cursor: Type.String(),
    },
    Type.Object({ rollouts: list(Rollout), cursor: Type.Optional(Type.String()) }),
  ),
  'list-runs': contract({ tenant: Type.String() }, list(Type.String())),
  /** `environment state` and milliseconds, alternating. */
  'list-cost': contract({}, list(Type.String())),
};
