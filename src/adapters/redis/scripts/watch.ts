import { Type } from 'typebox';
import { contract, list, Nothing } from './contract.ts';

const WaitingRun = Type.Object({
  template: Type.String(),
  waiting: Type.Integer(),
  ahead: Type.Integer(),
  first: Type.String(),
  firstWaitsMs: Type.Number(),
});

const WatchedTemplate = Type.Object({
  template: Type.String(),
  ready: Type.Integer(),
  starting: Type.Integer(),
  held: Type.Integer(),
  waiting: Type.Integer(),
  announced: Type.Integer(),
  breaker: Type.String(),
  lastFailure: Type.Optional(Type.Object({ code: Type.String(), agoMs: Type.Number() })),
  environment: Type.Optional(Type.String()),
  chosenFor: Type.Optional(Type.String()),
  isGraders: Type.Optional(Type.Boolean()),
});

const word = { word: Type.String(), keptMs: Type.Integer(), most: Type.Integer() };

export const watch = {
  watch: contract(
    {
      mostPlaces: Type.Integer(),
      mostRuns: Type.Integer(),
      mostTemplates: Type.Integer(),
      known: Type.Array(Type.String()),
    },
    Type.Object({
      rollouts: Type.Object({ open: Type.Integer(), inLine: Type.Integer(), callsRunning: Type.Integer() }),
      sandboxes: Type.Object({ all: Type.Integer(), starting: Type.Integer(), leaving: Type.Integer() }),
      line: list(WaitingRun),
      runsLeftOut: Type.Integer(),
      templates: list(WatchedTemplate),
      templatesLeftOut: Type.Integer(),
      processes: list(Type.Object({ silentMs: Type.Number(), word: Type.String() })),
    }),
  ),
  /** Of a process, or of a log of events. */
  'keep-word': contract(
    { process: Type.Optional(Type.String()), log: Type.Optional(Type.String()), ...word },
    Nothing,
  ),
  'agree-timings': contract(
    { process: Type.String(), silentMs: Type.Integer(), ...word },
    Type.Object({
      others: Type.Optional(Type.Record(Type.String(), Type.Integer())),
      isTooOld: Type.Optional(Type.Literal(true)),
    }),
  ),
  'list-event-logs': contract(
    {},
    list(Type.Object({ log: Type.String(), silentMs: Type.Number(), word: Type.String() })),
  ),
};
