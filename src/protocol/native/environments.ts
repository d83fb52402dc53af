import { Type } from 'typebox';

const EnvironmentLine = Type.Object({
  name: Type.String(),
  version: Type.String(),
  description: Type.String(),
  tools: Type.Array(Type.String()),
  grader: Type.String(),
  network: Type.String({ description: 'none, or a class that the operator defined' }),
});

export const EnvironmentsAnswer = Type.Object({ environments: Type.Array(EnvironmentLine) });

export const EnvironmentParams = Type.Object({ name: Type.String() });

/** The `tools` and `grader` of a training job's configuration, ready to paste. */
export const TrainingJobAnswer = Type.Record(Type.String(), Type.Unknown());
