import { Type } from 'typebox';
import { nullable } from './parts.ts';

const EnvironmentLine = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    description: Type.String(),
    tools: Type.Array(Type.String()),
    grader: Type.String(),
    network: Type.String({ description: 'none, or a class that the operator defined' }),
  },
  { title: 'Environment' },
);

export const EnvironmentsAnswer = Type.Object(
  { environments: Type.Array(EnvironmentLine) },
  { title: 'EnvironmentList' },
);

const Headers = Type.Record(Type.String(), Type.String());

export const EnvironmentParams = Type.Object({ name: Type.String() });

/** The `tools` and `grader` of a training job's configuration, ready to paste. */
export const TrainingJobAnswer = Type.Object(
  {
    tools: Type.Array(Type.Object({ name: Type.String(), server_url: Type.String(), headers: Headers })),
    grader: nullable(Type.Object({ type: Type.Literal('endpoint'), url: Type.String(), headers: Headers })),
    functions: Type.Array(
      Type.Object({
        type: Type.Literal('function'),
        function: Type.Object({
          name: Type.String(),
          description: Type.String(),
          parameters: Type.Record(Type.String(), Type.Unknown(), {
            description: 'the JSON schema of the arguments',
          }),
        }),
      }),
    ),
    limits: Type.Object({
      run_as: Type.Union([Type.Literal('user'), Type.Literal('root')]),
      folders: Type.Array(Type.String(), {
        description: 'writable by commands, in addition to the workspace',
      }),
      longest_timeout_s: Type.Number(),
      output_bytes: Type.Integer({ description: 'of one output of a tool' }),
    }),
  },
  { title: 'TrainingJob' },
);
