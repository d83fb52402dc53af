import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Static, type TSchema, Type } from 'typebox';
import { EnvironmentMistakes, type Mistake, type Path } from '#src/environments/mistakes.ts';
import { fileCheck } from '#src/environments/schema/validate.ts';
import { YamlSource } from '#src/environments/yaml-source.ts';
import { reservedField } from '#src/model/grader-leaves.ts';
import type { Item, Json } from '#src/model/grader.ts';
import { CommandError } from '../command-error.ts';
import { namedIn } from '../proving/fill.ts';
import { CallLost, type Drive, type DrivenRollout, type Script } from '../proving/play.ts';
import type { Row } from '../proving/rows.ts';

/** From the bottom of the ladder to its top. A ceiling is the score on which people agree; a cheat ranks with `nothing`. */
const kinds = ['nothing', 'naive', 'good', 'ceiling', 'reference', 'cheat'] as const;
export type Kind = (typeof kinds)[number];

/** A policy that is played without a model. */
export type Policy = Script & {
  readonly answer: Json | undefined;
  readonly name: string;
  readonly kind: Kind;
  /** Rollouts of each row. */
  readonly copies: number;
  /** Where its mean must lie, both ends included; null: anywhere that the order allows. */
  readonly expect: readonly [low: number, high: number] | null;
};

const strict = <Fields extends Record<string, TSchema>>(fields: Fields) =>
  Type.Object(fields, { additionalProperties: false });

const Expected = Type.Union([Type.Number(), Type.Tuple([Type.Number(), Type.Number()])], {
  description: 'a mean, 0.5, or the two between which it must lie, [0.4, 0.6]',
});

const PolicyYaml = strict({
  name: Type.String({
    pattern: '^[a-z0-9][a-z0-9-]{0,39}$',
    description: 'lower-case letters, digits and dashes, at most 40',
  }),
  kind: Type.Unsafe<Kind>({ enum: kinds, description: `one of ${kinds.join(', ')}` }),
  calls: Type.Optional(
    Type.Array(
      strict({
        tool: Type.String({ description: 'the name of a tool' }),
        arguments: Type.Optional(Type.Record(Type.String(), Type.Unsafe<Json>({}))),
      }),
      { maxItems: 200 },
    ),
  ),
  answer: Type.Optional(Type.Unsafe<Json>({})),
  script: Type.Optional(
    Type.String({
      pattern: String.raw`^[\w.-]+\.(?:ts|mts|js|mjs)$`,
      description: 'a module next to this file',
    }),
  ),
  copies: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 64, description: 'a whole number from 1 to 64' }),
  ),
  expect: Type.Optional(Expected),
});
type PolicyYaml = Static<typeof PolicyYaml>;

const hasShape = fileCheck(strict({ policies: Type.Array(PolicyYaml, { minItems: 1 }) }));

/** Where an environment's policies stand: in a folder of its name, into which the fleet never looks. */
export const policiesFile = (environmentsDir: string, environment: string): string =>
  join(environmentsDir, environment, 'policies.yaml');

/**
 * The policies of an environment, none where it has no file of them. Throws every mistake at once. What its grader compares
 * with only a reference may know.
 */
export function loadPolicies(file: string, secrets: Secrets): readonly Policy[] {
  if (!existsSync(file)) return [];
  const source = new YamlSource(file, readFileSync(file, 'utf8'));
  const mistakes: Mistake[] = [...source.syntaxMistakes];
  const report = (path: Path, message: string) => void mistakes.push(source.mistake(path, message));
  const value = source.value;
  if (mistakes.length === 0 && hasShape(value, report)) {
    for (const [index, policy] of value.policies.entries()) {
      const before = value.policies.slice(0, index);
      if (before.some(({ name }) => name === policy.name)) report(['policies', index, 'name'], 'is taken');
      for (const problem of forbiddenIn(policy, secrets.graded)) report(['policies', index, 'name'], problem);
    }
    if (mistakes.length === 0) return value.policies.map((policy) => compile(policy, file, secrets));
  }
  throw new EnvironmentMistakes(mistakes);
}

/** What a rung must not know, or it would not be one. */
function forbiddenIn({ kind, calls = [], answer, script, expect }: PolicyYaml, graded: readonly string[]) {
  const named = namedIn([answer ?? null, ...calls.map((call) => call.arguments ?? null)]);
  const truths = [`${reservedField}.reference`, ...graded.map((field) => `item.${field}`)];
  const allowed: Readonly<Record<Kind, readonly string[]>> = {
    nothing: [],
    naive: [],
    good: [],
    ceiling: [],
    reference: truths,
    cheat: [`${reservedField}.cheating`],
  };
  const secret = [...truths, `${reservedField}.cheating`, `item.${reservedField}`];
  const problems = secret
    .filter((path) => !allowed[kind].includes(path))
    .filter((path) => named.some((name) => name === path || name.startsWith(`${path}.`)))
    .map((path) => `is a ${kind} and names {${path}}, which no policy of that kind can know`);
  if (kind === 'nothing' && script !== undefined) problems.push('is a nothing, and has a script');
  if (script !== undefined && (calls.length > 0 || answer !== undefined))
    problems.push(
      'has a script and also calls or an answer; the script makes the calls and gives the answer',
    );
  if (kind === 'nothing' && calls.length > 0) problems.push('is a nothing, and makes calls');
  if (Array.isArray(expect) && expect[0] > expect[1])
    problems.push('expects a mean between ends in wrong order');
  return problems;
}

function compile(policy: PolicyYaml, file: string, secrets: Secrets): Policy {
  const { name, kind, calls = [], answer, script, copies = 1, expect } = policy;
  const steps = calls.map((call) => ({ tool: call.tool, arguments: call.arguments ?? {} }));
  const range = typeof expect === 'number' ? ([expect, expect] as const) : (expect ?? null);
  const drive =
    script === undefined ? {} : { drive: scripted(resolve(dirname(file), script), policy, secrets) };
  return { name, kind, steps, answer, copies, expect: range, ...drive };
}

/**
 * The policies as they are played: a `nothing`, without which no other can be judged, and what the rows bring themselves
 * where no policy of that kind is given.
 */
export function completed(given: readonly Policy[], rows: readonly Row[]): readonly Policy[] {
  const lacks = (kind: Kind) => given.every((policy) => policy.kind !== kind);
  const policies = [...given];
  if (lacks('nothing')) policies.unshift(made('nothing', 'nothing', undefined));
  if (lacks('reference') && rows.every(({ reference }) => reference !== undefined))
    policies.push(made('reference', 'reference', `{${reservedField}.reference}`));
  if (lacks('cheat') && rows.every(({ cheating }) => cheating !== undefined))
    policies.push(made('cheating', 'cheat', `{${reservedField}.cheating}`));
  return policies.toSorted((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
}

const made = (name: string, kind: Kind, answer: Json | undefined): Policy => ({
  name,
  kind,
  steps: [],
  answer,
  copies: 1,
  expect: null,
});

/** One rollout as a policy's program sees it. */
export type ScriptedRollout = {
  /** The row, as far as a policy of this kind can know it. */
  readonly item: Item;
  /** From 1: begin chance with it, and copies differ as a model's do. */
  readonly copy: number;
  /** `corral.reference` of the row for a `reference`, `corral.cheating` for a `cheat`. */
  readonly given: Json | undefined;
  /** Calls a tool; the text is what a model would read. */
  readonly call: DrivenRollout['call'];
};

/** Plays one rollout and returns the last message. */
export type ScriptedPolicy = (rollout: ScriptedRollout) => Promise<Json | undefined>;

export type Secrets = {
  /** Fields that the grader compares with. */
  readonly graded: readonly string[];
  /** Fields in the prompt; null: not specified, so all other fields are. */
  readonly told: readonly string[] | null;
};

/** A field of the row as a text; empty if it is not a text. */
export function textIn({ item }: Pick<ScriptedRollout, 'item'>, field: string): string {
  const value = item[field];
  return typeof value === 'string' ? value : '';
}

type Named = { readonly name: string; readonly kind: Kind };

/** A policy from a module next to the environment, which exports it by name in `policies`. */
export function scripted(file: string, { name, kind }: Named, secrets: Secrets): Drive {
  return async ({ row, copy, call }) => {
    const policy = await policyIn(file, name);
    try {
      return await policy({ item: knownTo(kind, row, secrets), copy, given: givenTo(kind, row), call });
    } catch (error) {
      if (error instanceof CallLost || error instanceof CommandError) throw error;
      throw new CommandError(`policy ${name} failed: ${String(error)}`, 'yours', `fix ${file}`, error);
    }
  };
}

async function policyIn(file: string, name: string): Promise<ScriptedPolicy> {
  const module = (await import(pathToFileURL(file).href)) as { policies?: Record<string, ScriptedPolicy> };
  const found = module.policies?.[name];
  if (typeof found === 'function') return found;
  throw new CommandError(
    `${file} has no policy ${name}`,
    'yours',
    'export const policies = { "NAME": async ({ item, call }) => answer }',
  );
}

/** A rung that knew more than the prompt tells would say nothing of what a model can earn. */
function knownTo(kind: Kind, { item }: Row, { graded, told }: Secrets): Item {
  if (kind === 'reference') return item;
  const seen = ([field]: readonly [string, Json]) =>
    !graded.includes(field) && (told === null || told.includes(field));
  return Object.fromEntries(Object.entries(item).filter(seen));
}

function givenTo(kind: Kind, { reference, cheating }: Row): Json | undefined {
  if (kind === 'reference') return reference;
  return kind === 'cheat' ? cheating : undefined;
}
