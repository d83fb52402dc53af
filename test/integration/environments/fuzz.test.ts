import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { Check } from 'typebox/value';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadEnvironments } from '#src/environments/load-environments.ts';
import { EnvironmentMistakes } from '#src/environments/mistakes.ts';
import { EnvironmentSchema } from '#src/environments/schema/environment.ts';
import { ajv } from '#src/environments/schema/validate.ts';
import { environmentFolder } from '#test/support/environment-folder.ts';
import { nastyJson } from '#test/support/nasty-json.ts';

/** Every field that there is, so that each can go wrong. */
const whole = `
name: everything
description: all of it
sandbox: { image: host, cpu: 100m, memory: 64Mi, disk: 64Mi, processes: 64, network: none, run_as: user, env: { A: b }, prepare: [[sh, -c, "true"]], start_timeout: 60s }
setup: { commands: [[git, checkout, "{item.base}"]], timeout: 30s }
expose: [base]
tools:
  shell: { builtin: shell, timeout: 30s }
  find: { command: [grep, -rn, -e, "{query}"], parameters: { query: { type: string, pattern: "^[a-z]+$" }, depth: integer? } }
limits: { tool_calls: 10, output_bytes: 4096, rollout: 10m, idle: 5m, grade: 5m, hard_life: 1h }
unseen_calls: report
on_too_long: 0
grader:
  kind: penalty
  free_calls: 1
  each: 0.1
  grader:
    kind: gate
    all: [{ kind: text, reference: item.answer, match: numeric, tolerance: 0.1, partial_within: 0.2 }]
    grader: { kind: weighted, parts: [{ weight: 1, grader: { kind: f1, answer: output_json.files, reference: item.files } }, { weight: 2, grader: { kind: http, url: "http://judge/score", headers: { a: { secret: S } }, timeout: 5s, retries: 1, on_refused: 0 } }] }
texts: { exit_code: "[exit {code}]" }
pool: { min_ready: 1, max: 2, max_age: 1h }
`;

const odd = [
  '.inf',
  '-.inf',
  '.nan',
  '!!binary aGk=',
  '!!float 1',
  '&a [*a]',
  '*missing',
  '<<: {a: b}',
  '2026-11-22',
  '0x1f',
  '1_000',
  '~',
  'yes',
  '"\\0"',
  "'{{'",
  '{item.constructor}',
  '__proto__',
  'constructor',
  '? a',
  '- -',
  '%',
  '@',
  '|',
  '>-',
  '[',
  '}',
  ':',
  '#',
  '',
  '{__proto__: {a: b}}',
  '{constructor: string}',
  '(?<=a)b',
  '"(a+)+$"',
  '99999999999999999999h',
  '1e999',
  '-1',
  '[[[[]]]]',
];

/** One token of the text becomes something else, or a piece of it goes; up to three times. */
function mistaken(text: string): fc.Arbitrary<string> {
  const tokens = text.split(/(\s|[{}[\],:])/);
  const changed = fc.oneof(fc.constantFrom(...odd), nastyJson);
  const change = fc.tuple(fc.nat(tokens.length - 1), changed);
  return fc
    .array(change, { minLength: 1, maxLength: 3 })
    .map((changes) =>
      tokens.map((token, index) => changes.find(([at]) => at === index)?.[1] ?? token).join(''),
    );
}

let folder: Awaited<ReturnType<typeof environmentFolder>>;
beforeAll(async () => {
  folder = await environmentFolder({ 'a.yaml': whole });
});
afterAll(() => folder[Symbol.asyncDispose]());

const outcomeOf = (loading: Promise<unknown>): Promise<'loaded' | 'mistakes'> =>
  loading.then(
    () => 'loaded',
    (error: unknown) => {
      if (error instanceof EnvironmentMistakes) return 'mistakes';
      throw error;
    },
  );

it('the whole file is in order', async () => {
  await expect(outcomeOf(loadEnvironments(folder.path))).resolves.toBe('loaded');
});

it('1,000 of ten thousand seeded inputs: a file with anything wrong in it is loaded or told as mistakes, never an accident', async () => {
  const gallery = await readFile(join(import.meta.dirname, '../../../environments/shell.yaml'), 'utf8');
  const told = { loaded: 0, mistakes: 0 };
  for (const yaml of fc.sample(fc.oneof(mistaken(whole), mistaken(whole), mistaken(gallery)), {
    seed: 11,
    numRuns: 1_000,
  })) {
    await writeFile(join(folder.path, 'a.yaml'), yaml);
    const outcome = await outcomeOf(loadEnvironments(folder.path)).catch((error: unknown) => {
      throw new Error(`this file was an accident:\n${yaml.slice(0, 3_000)}`, { cause: error });
    });
    told[outcome] += 1;
  }
  expect(told.loaded).toBeGreaterThan(50);
  expect(told.mistakes).toBeGreaterThan(500);
});

it('what the quick check accepts, Ajv accepts: no mistake is missed because a file is not compiled for', () => {
  const ajvAccepts = ajv.compile(EnvironmentSchema);
  const inputs = fc.sample(mistaken(whole), { seed: 12, numRuns: 300 });
  const values = inputs.flatMap((yaml) => parsed(yaml));
  const accepted = values.filter((value) => Check(EnvironmentSchema, value));
  expect(accepted.filter((value) => !ajvAccepts(value))).toEqual([]);
  expect(accepted.length).toBeGreaterThan(3);
  expect(values.length - accepted.length).toBeGreaterThan(20);
});

function parsed(yaml: string): unknown[] {
  try {
    return [parse(yaml)];
  } catch {
    return [];
  }
}
