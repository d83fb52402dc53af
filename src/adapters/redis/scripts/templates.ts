import { Type } from 'typebox';
import { contract, list, Nothing, orNothing } from './contract.ts';

const template = Type.String();

const Counts = Type.Object({
  template,
  ready: Type.Integer(),
  launching: Type.Integer(),
  held: Type.Integer(),
  waiting: Type.Integer(),
  oldestWaitMs: Type.Number(),
  announced: Type.Integer(),
  breaker: Type.String(),
  lastFailure: Type.Optional(
    Type.Object({ code: Type.String(), message: Type.String(), atMs: Type.Number() }),
  ),
});

export const templates = {
  /** Until when it counts. Nothing: too many runs announce already. */
  announce: contract(
    { template, run: Type.String(), count: Type.Integer(), lifeMs: Type.Integer() },
    orNothing(Type.Number()),
  ),
  choose: contract({ template, version: Type.String(), choice: Type.String() }, Nothing),
  'list-chosen': contract(
    { sinceMs: Type.Optional(Type.Number()) },
    Type.Object({
      atMs: Type.Number(),
      templates: list(Type.Object({ template, version: Type.String(), choice: Type.String() })),
    }),
  ),
  counts: contract({ templates: Type.Array(template) }, list(Counts)),
  'known-templates': contract({}, list(template)),
  retire: contract({ template, maxAgeMs: Type.Integer(), keepReady: Type.Integer() }, Type.Integer()),
};
