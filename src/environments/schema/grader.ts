import { type Static, Type } from 'typebox';
import { Argv, Count, Duration, strict } from './parts.ts';

const Answer = Type.String({
  pattern: String.raw`^(?:output_text|output_json(?:\.[^.]+)*)$`,
  description: 'output_text, output_json or a field of it such as output_json.files',
});

const Reference = Type.String({
  pattern: String.raw`^item(?:\.[^.]+)+$`,
  description: 'a field of the dataset row such as item.files',
});

const OnBad = Type.Union([Type.Number(), Type.Literal('discard')], { description: 'a score or discard' });

/** A file given as its text, or as a file beside the YAML. */
const GraderFile = Type.Union([Type.String(), strict({ file: Type.String({ minLength: 1 }) })], {
  description: 'the text of the file or {file: PATH}, relative to this YAML',
});

const Sets = ['f1', 'recall'] as const;
const setGraders = Sets.map((kind) =>
  strict({ kind: Type.Literal(kind), answer: Answer, reference: Reference }),
);

const TextGrader = strict({
  kind: Type.Literal('text'),
  answer: Type.Optional(Answer),
  reference: Reference,
  match: Type.Optional(
    Type.Union([Type.Literal('exact'), Type.Literal('normalised'), Type.Literal('numeric')], {
      description: 'exact, normalised or numeric',
    }),
  ),
  tolerance: Type.Optional(
    Type.Number({ minimum: 0, description: 'a relative tolerance from 0, such as 0.01' }),
  ),
  partial_within: Type.Optional(
    Type.Number({ minimum: 0, description: 'a relative distance from 0, such as 0.1' }),
  ),
});

/** No defaults for `on_…`, here and below: whether a broken grader may hide a bad rollout is the author's decision, every time. */
const CommandGrader = strict({
  kind: Type.Literal('command'),
  command: Argv,
  files: Type.Optional(
    Type.Record(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' }), GraderFile, {
      additionalProperties: false,
      title: 'files are letters, digits, dots, _ and -, without folders',
      description: 'files by name: {check.py: {file: graders/check.py}}',
    }),
  ),
  timeout: Type.Optional(Duration),
  on_exit: OnBad,
  on_timeout: OnBad,
  on_out_of_memory: OnBad,
  on_broken: OnBad,
});

const HeaderValue = Type.Union([Type.String(), strict({ secret: Type.String({ minLength: 1 }) })], {
  description: 'text or {secret: NAME}',
});

const HttpGrader = strict({
  kind: Type.Literal('http'),
  url: Type.String({ pattern: '^https?://', description: 'an http or https URL' }),
  headers: Type.Optional(Type.Record(Type.String(), HeaderValue)),
  timeout: Type.Optional(Duration),
  retries: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 10, description: 'a whole number from 0 to 10' }),
  ),
  on_refused: OnBad,
  control: Type.Optional(Type.String({ minLength: 1, description: 'an answer that the judge scores' })),
});

/** Graders contain graders; the reference is to `$defs` of the schema of a whole file. */
const Part = Type.Unsafe<GraderYaml>({ $ref: '#/$defs/grader' });

const GateGrader = strict({
  kind: Type.Literal('gate'),
  all: Type.Array(Part, { minItems: 1, description: 'a list of at least one grader' }),
  grader: Part,
});

const WeightedGrader = strict({
  kind: Type.Literal('weighted'),
  parts: Type.Array(
    strict({ weight: Type.Number({ exclusiveMinimum: 0, description: 'a number above 0' }), grader: Part }),
    { minItems: 1, description: 'a list of {weight, grader}' },
  ),
});

const PenaltyGrader = strict({
  kind: Type.Literal('penalty'),
  grader: Part,
  free_calls: Count,
  each: Type.Number({ minimum: 0, description: 'a number from 0' }),
  floor: Type.Optional(Type.Number()),
});

export type GraderYaml =
  | { kind: 'f1' | 'recall'; answer: string; reference: string }
  | Static<typeof TextGrader>
  | Static<typeof CommandGrader>
  | Static<typeof HttpGrader>
  | { kind: 'gate'; all: GraderYaml[]; grader: GraderYaml }
  | { kind: 'weighted'; parts: { weight: number; grader: GraderYaml }[] }
  | { kind: 'penalty'; grader: GraderYaml; free_calls: number; each: number; floor?: number };

/** Told apart by `kind`, so that a mistake is explained by the one schema that is meant. */
export const GraderSchema = {
  type: 'object',
  required: ['kind'],
  discriminator: { propertyName: 'kind' },
  oneOf: [...setGraders, TextGrader, CommandGrader, HttpGrader, GateGrader, WeightedGrader, PenaltyGrader],
  description: 'a grader: {kind: f1 | recall | text | command | http | gate | weighted | penalty, …}',
} as const;
