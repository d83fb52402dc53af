import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Environment } from '#src/model/environment.ts';
import { type GraderLeaf, graderLeaves } from '#src/model/grader-leaves.ts';
import type { Grader, Json } from '#src/model/grader.ts';
import type { Policy } from '../ladder/policies.ts';
import type { Step } from '../proving/play.ts';
import type { Row } from '../proving/rows.ts';
import type { TrainingJob } from '../proving/training-job.ts';

/** One row of an environment, as a policy sees it that wants the reward without the work. */
export type Target = {
  readonly row: Row;
  /** The other rows of the dataset: what a policy has met in training. */
  readonly others: readonly Row[];
  readonly environment: Pick<Environment, 'grader' | 'expose' | 'dataset'>;
  /** The reference policy's calls: what the work looks like from outside. */
  readonly work: readonly Step[];
  /** The smallest call that each tool's schema accepts, by the order of the tools. */
  readonly smallest: readonly Step[];
  /** Null where no tool runs a command. */
  readonly run: ((command: string) => Step) | null;
  /** Null where no tool reads a file. */
  readonly read: ((path: string) => Step) | null;
};

type Tools = Pick<Target, 'run' | 'read' | 'smallest'>;

/** The tools by which a policy runs what it likes, and reads what it likes. */
export function toolsOf({ functions }: TrainingJob): Tools {
  const found = functions.map(({ function: { name, parameters } }) => ({
    name,
    required: parameters['required'],
  }));
  const taking = (field: string, name: RegExp) =>
    found.find(
      (tool) =>
        Array.isArray(tool.required) &&
        tool.required.length === 1 &&
        tool.required[0] === field &&
        name.test(tool.name),
    )?.name;
  const shell = taking('command', /^/);
  const reader = taking('path', /read|cat|open/);
  return {
    smallest: functions.map(({ function: { name, parameters } }) => ({
      tool: name,
      arguments: smallestArguments(parameters),
    })),
    run: shell === undefined ? null : (command) => ({ tool: shell, arguments: { command } }),
    read: reader === undefined ? null : (path) => ({ tool: reader, arguments: { path } }),
  };
}

export const referenceWork = (policies: readonly Policy[]): readonly Step[] =>
  policies.find(({ kind, steps }) => kind === 'reference' && steps.length > 0)?.steps ?? [];

type Compared = Extract<GraderLeaf, { kind: 'f1' | 'recall' | 'text' }>;

/** The parts of a grader that compare a place of the answer with a place of the row. */
export const comparedBy = (grader: Grader): readonly Compared[] =>
  graderLeaves(grader).filter((leaf) => 'answer' in leaf);

/** An answer in the shape that the grader reads, with this value wherever it looks; plain text where nothing says how. */
export function answerWith(grader: Grader, value: (compared: Compared) => Json, plain: Json): Json {
  const parts = comparedBy(grader);
  if (parts.length === 0) return plain;
  return parts.reduce<Json>((answer, part) => {
    const [source, ...path] = part.answer.split('.');
    const given = value(part);
    return source === 'output_json' ? placed(answer, path, given) : textOf(given);
  }, {});
}

function placed(into: Json, [first, ...rest]: readonly string[], value: Json): Json {
  if (first === undefined) return value;
  const fields = typeof into === 'object' && into !== null && !Array.isArray(into) ? into : {};
  const inside = Object.entries(fields).find(([key]) => key === first)?.[1] ?? {};
  return Object.fromEntries([...Object.entries(fields), [first, placed(inside, rest, value)]]);
}

export function textOf(value: Json): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map((each: Json) => textOf(each)).join('\n');
  return JSON.stringify(value);
}

/** The right answer: what the grader compares with, else the row's own reference; undefined if neither exists. */
export function truthOf({
  row,
  environment: { grader },
}: Pick<Target, 'row' | 'environment'>): Json | undefined {
  if (row.reference !== undefined) return row.reference;
  if (comparedBy(grader).length === 0) return undefined;
  return answerWith(grader, ({ reference }) => fieldOf(row, reference), '');
}

export const fieldOf = ({ item }: Row, path: string): Json =>
  path
    .split('.')
    .slice(1)
    .reduce<Json>((value, step) => {
      if (typeof value !== 'object' || value === null) return null;
      return Object.entries(value).find(([key]) => key === step)?.[1] ?? null;
    }, item);

/** Every text and number in a value. */
export function leavesOf(value: Json | undefined): readonly string[] {
  if (value === undefined || value === null || typeof value === 'boolean') return [];
  if (typeof value !== 'object') return [String(value)];
  return Object.values(value).flatMap((each: Json) => leavesOf(each));
}

/** The smallest arguments that a tool's schema accepts: every required field, empty or the first of its choices. */
function smallestArguments(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, Json>> {
  if (!Value.Check(ArgumentsSchema, schema)) return {};
  const { properties = {}, required = [] } = schema;
  return Object.fromEntries(required.map((name) => [name, smallestValue(properties[name] ?? {})]));
}

const ArgumentsSchema = Type.Object({
  required: Type.Optional(Type.Array(Type.String())),
  properties: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object({
        type: Type.Optional(Type.String()),
        enum: Type.Optional(Type.Array(Type.String())),
        minimum: Type.Optional(Type.Number()),
        minLength: Type.Optional(Type.Number()),
      }),
    ),
  ),
});
type ArgumentSchema = NonNullable<Static<typeof ArgumentsSchema>['properties']>[string];

function smallestValue({ type, enum: choices, minimum = 0, minLength = 0 }: ArgumentSchema): Json {
  if (choices?.[0] !== undefined) return choices[0];
  if (type === 'integer' || type === 'number') return Math.max(0, Math.ceil(minimum));
  if (type === 'boolean') return false;
  if (type === 'array') return [];
  return type === 'object' ? {} : 'x'.repeat(minLength);
}
