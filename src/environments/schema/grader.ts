import { type Static, Type } from 'typebox';
import type { Item } from '#src/model/grader.ts';
import { maxChangedFiles } from '#src/protocol/sandboxd/wire.ts';
import { Argv, Bytes, Count, Duration, strict } from './parts.ts';

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

const Compare = Type.Union([Type.Literal('path'), Type.Literal('code')], { description: 'path or code' });

const TimesExpected = Type.String({ pattern: String.raw`^\d{1,3}(?:\.\d)?x$` });

const Most = Type.Union([Type.Integer({ minimum: 1 }), TimesExpected], {
  description: 'how many answers count: a whole number from 1, or 2x for twice what is expected',
});

const F1Grader = strict({
  kind: Type.Literal('f1'),
  answer: Answer,
  reference: Reference,
  compare: Type.Optional(Compare),
  refuse_above: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1 }), TimesExpected], {
      description:
        'from how many answers on none counts: a whole number from 1, or 3x for three times what is expected',
    }),
  ),
});

const RecallGrader = strict({
  kind: Type.Literal('recall'),
  answer: Answer,
  reference: Reference,
  compare: Type.Optional(Compare),
  most: Type.Optional(Most),
});

const magnitudeWords = ['K', 'M', 'B', 'T', 'mm', 'mn', 'bn', 'tn'] as const;
const Magnitude = Type.Union(
  magnitudeWords.map((word) => Type.Literal(word)),
  { description: magnitudeWords.join(', ') },
);

const Share = Type.Number({ minimum: 0, maximum: 1, description: 'a number from 0 to 1' });

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
  magnitudes: Type.Optional(Type.Array(Magnitude)),
  currencies: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Z]{3}$', description: 'a code such as USD' })),
  ),
  partial: Type.Optional(strict({ worth: Share, within: Share, rounding: Type.Optional(Type.Boolean()) })),
});

/** Each may be a walk of its own. */
const mostArtifactNames = 64;

const rowFolder = String.raw`^(?:(?!\.{1,2}/)[A-Za-z0-9._-]+/)*\{item\.[A-Za-z_][A-Za-z0-9_-]*\}/$`;

/** The files by name, and in `from` those of each row: it is not the name of a file. */
const GraderFiles = Type.Object(
  {
    from: Type.Optional(
      Type.String({
        pattern: rowFolder,
        description: 'the folder of a row, relative to this YAML: tests/{item.id}/',
      }),
    ),
  },
  {
    patternProperties: { '^(?!from$)[A-Za-z0-9][A-Za-z0-9._-]*$': GraderFile },
    additionalProperties: false,
    title: 'files are letters, digits, dots, _ and -, without folders',
    description: 'files by name: {check.py: {file: graders/check.py}}',
  },
);
type GraderFilesYaml = { readonly from?: string } & {
  readonly [name: string]: string | { readonly file: string };
};

/** A path that stays in its folder; how it is written says whether it is below the workspace. */
const Artifact = Type.String({
  pattern: String.raw`^/?(?!\.{1,2}(?:/|$))[A-Za-z0-9._*@+=-]+(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._*@+=-]+)*/?$`,
  maxLength: 512,
  description: 'a path such as src/ or out/*.png, without . and .. and spaces',
});

/** A folder whose content is compared; `.` is the workspace. */
const ChangedFolder = Type.String({
  pattern: String.raw`^(?:\.|/?(?!\.{1,2}(?:/|$))[A-Za-z0-9._@+=-]+(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._@+=-]+)*/?)$`,
  maxLength: 512,
  description: '. for the workspace, or a folder such as src or /testbed',
});

const Exception = Type.String({
  pattern: String.raw`^/?[A-Za-z0-9._*@+=-]+(?:/[A-Za-z0-9._*@+=-]+)*/?$`,
  maxLength: 512,
  description: 'a name such as node_modules, or an absolute path; * is anything in one name',
});

/** No defaults for `on_…`, here and below: whether a broken grader may hide a bad rollout is the author's decision, every time. */
const CommandGrader = strict({
  kind: Type.Literal('command'),
  command: Argv,
  files: Type.Optional(Type.Unsafe<GraderFilesYaml>(GraderFiles)),
  grade_in: Type.Optional(
    Type.Union([Type.Literal('same'), Type.Literal('fresh')], { description: 'same or fresh' }),
  ),
  artifacts: Type.Optional(
    Type.Array(Artifact, {
      minItems: 1,
      maxItems: mostArtifactNames,
      description: `a list of at most ${mostArtifactNames} paths such as src/ or out/*.png`,
    }),
  ),
  changes: Type.Optional(
    strict({
      below: Type.Array(ChangedFolder, {
        minItems: 1,
        maxItems: 16,
        description: 'a list of one to 16 folders',
      }),
      except: Type.Optional(
        Type.Array(Exception, { maxItems: 64, description: 'a list of at most 64 names or absolute paths' }),
      ),
      files: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: maxChangedFiles,
          description: `a whole number from 1 to ${maxChangedFiles}`,
        }),
      ),
    }),
  ),
  artifact_bytes: Type.Optional(Bytes),
  on_artifacts: Type.Optional(Type.Number({ description: 'a score' })),
  timeout: Type.Optional(Duration),
  on_exit: OnBad,
  on_timeout: OnBad,
  on_out_of_memory: OnBad,
  on_broken: OnBad,
});

const HeaderValue = Type.Union([Type.String(), strict({ secret: Type.String({ minLength: 1 }) })], {
  description: 'text or {secret: NAME}',
});

const CanaryScore = Type.Number({ description: 'a score' });
const mustBeLow = { answer: Type.String({ minLength: 1 }), at_most: CanaryScore };

/** Four answers of the author's: nothing of a policy's is in them. */
const Guard = strict({
  every: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 10_000, description: 'a whole number of grades from 1 to 10000' }),
  ),
  item: Type.Unsafe<Item>(Type.Object({}, { description: 'the dataset row that the canaries answer' })),
  canaries: strict({
    empty: strict({ at_most: CanaryScore }),
    injected: strict(mustBeLow),
    reference: strict({ answer: Type.String({ minLength: 1 }), at_least: CanaryScore }),
    corrupted: strict(mustBeLow),
  }),
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
  calls: Type.Optional(Type.Boolean({ description: 'true: the judge is sent the calls, too' })),
  attach: Type.Optional(
    Type.Array(
      Type.String({
        pattern: String.raw`^(?!/)(?!(?:.*/)?\.\.(?:/|$))(?:[^*]*/)?[^/]+$`,
        description: 'a path below the workspace, with * in its last name only: out/*.png',
      }),
      { minItems: 1, maxItems: 16, description: 'a list of one to 16 paths' },
    ),
  ),
  attach_bytes: Type.Optional(Bytes),
  on_attach: Type.Optional(Type.Number({ description: 'a score' })),
  guard: Type.Optional(Guard),
});

const ToolName = Type.String({ minLength: 1, description: 'the name of a tool' });

const Selector = Type.Union(
  [
    ToolName,
    strict({
      tool: ToolName,
      argument: Type.String({ minLength: 1 }),
      is: Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
    }),
  ],
  { description: 'the name of a tool, or {tool, argument, is: [TEXT, …]}' },
);

const CallsGrader = strict({
  kind: Type.Literal('calls'),
  opened: Type.Optional(
    strict({
      reference: Reference,
      tools: Type.Record(Type.String(), Type.String({ minLength: 1 }), {
        minProperties: 1,
        description: 'the argument that holds the path, by tool: {read_file: path}',
      }),
      most: Type.Optional(Most),
    }),
  ),
  checked: Type.Optional(
    strict({
      edits: Type.Array(Selector, { minItems: 1, description: 'a list of at least one tool' }),
      checks: Type.Array(Selector, { minItems: 1, description: 'a list of at least one tool' }),
      passing: Type.Optional(Type.Boolean({ description: 'true or false' })),
    }),
  ),
});

/** Graders contain graders; the reference is to `$defs` of the schema of a whole file. */
const Part = Type.Unsafe<GraderYaml>({ $ref: '#/$defs/grader' });

const GateGrader = strict({
  kind: Type.Literal('gate'),
  all: Type.Array(Part, { minItems: 1, description: 'a list of at least one grader' }),
  grader: Part,
});

const LowestGrader = strict({
  kind: Type.Literal('lowest'),
  of: Type.Array(Part, { minItems: 2, description: 'a list of at least two graders' }),
});

const WeightedGrader = strict({
  kind: Type.Literal('weighted'),
  parts: Type.Array(
    strict({ weight: Type.Number({ exclusiveMinimum: 0, description: 'a number above 0' }), grader: Part }),
    { minItems: 1, description: 'a list of {weight, grader}' },
  ),
});

const Each = Type.Number({ minimum: 0, description: 'a number from 0' });

const Surcharges = strict({
  time: Type.Optional(strict({ free: Duration, per: Duration, each: Each })),
  bytes: Type.Optional(strict({ free: Bytes, per: Bytes, each: Each })),
});

const PenaltyGrader = strict({
  kind: Type.Literal('penalty'),
  grader: Part,
  free_calls: Count,
  each: Each,
  floor: Type.Optional(Type.Number()),
  ...Surcharges.properties,
});

const NoGrader = strict({ kind: Type.Literal('none') });

/** What may be a part of another. */
export type GraderYaml =
  | Static<typeof F1Grader>
  | Static<typeof RecallGrader>
  | Static<typeof TextGrader>
  | Static<typeof CommandGrader>
  | Static<typeof HttpGrader>
  | Static<typeof CallsGrader>
  | { kind: 'gate'; all: GraderYaml[]; grader: GraderYaml }
  | { kind: 'lowest'; of: GraderYaml[] }
  | { kind: 'weighted'; parts: { weight: number; grader: GraderYaml }[] }
  | ({ kind: 'penalty'; grader: GraderYaml; free_calls: number; each: number; floor?: number } & Static<
      typeof Surcharges
    >);

/** Told apart by `kind`, so that a mistake is explained by the one schema that is meant. */
export const GraderSchema = {
  type: 'object',
  required: ['kind'],
  discriminator: { propertyName: 'kind' },
  oneOf: [
    F1Grader,
    RecallGrader,
    TextGrader,
    CommandGrader,
    HttpGrader,
    CallsGrader,
    GateGrader,
    LowestGrader,
    WeightedGrader,
    PenaltyGrader,
  ],
  description:
    'a grader: {kind: f1 | recall | text | command | http | calls | gate | lowest | weighted | penalty, …}',
} as const;

/** Of a whole environment: a grader, or the trainer's own word. */
export type WholeGraderYaml = GraderYaml | Static<typeof NoGrader>;

export const WholeGraderSchema = {
  ...GraderSchema,
  oneOf: [NoGrader, ...GraderSchema.oneOf],
  description:
    'a grader: {kind: f1 | recall | text | command | http | calls | gate | lowest | weighted | penalty | none, …}',
} as const;
