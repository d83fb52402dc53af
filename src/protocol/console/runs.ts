import { type Static, Type } from 'typebox';
import { NumberOrNull, TextOrNull } from './parts.ts';

/** One run in the list; `means`: mean reward by wave, the newest 60. */
const RunLine = Type.Object({
  run: Type.String(),
  state: Type.String(),
  rollouts: Type.Number(),
  open: Type.Number(),
  scored: Type.Number(),
  discarded: Type.Number(),
  mean: NumberOrNull,
  means: Type.Array(NumberOrNull),
  /** The worst finding, if the run was looked at lately. */
  finding: TextOrNull,
});

export const RunsAnswer = Type.Object({ runs: Type.Array(RunLine), cursor: NumberOrNull });
export type RunsAnswer = Static<typeof RunsAnswer>;
