import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AttackReport } from '#cli/attack/attack.ts';
import type { Gate } from '#cli/attack/gate.ts';
import { exitCodes } from '#cli/command-error.ts';
import { runCorral } from '#test/support/command-line.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/* Environments with a hole that authors have made, one each: the library finds every one of them, and names it. */

const environment = (name: string, grader: string, { expose = '', runAs = 'user' } = {}) => `
name: ${name}
sandbox: { image: host, disk: 64Mi, memory: 256Mi, processes: 64, run_as: ${runAs} }
expose: [${expose}]
tools: { shell: { builtin: shell, timeout: 20s } }
grader: ${grader}
pool: { min_ready: 2, max: 8 }
`;

const command = (script: string) =>
  `{ kind: command, command: [sh, -c, ${JSON.stringify(script)}], timeout: 60s, on_exit: 0, on_timeout: 0, on_out_of_memory: 0, on_broken: 0 }`;

const elsewhere = (script: string) =>
  command(script).replace('{ ', '{ grade_in: fresh, artifacts: [work.sh], on_artifacts: 0, ');

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Scores the last message by a Python expression of `said` and `item`. */
const answerIs = (expression: string) =>
  command(
    `python3 -I -c '${[
      'import json, os, sys',
      'item = json.load(sys.stdin)',
      'said = json.load(open(os.environ["CORRAL_ROLLOUT"]))["output_text"] or ""',
      `open(os.environ["CORRAL_SCORE_FILE"], "w").write(str(${expression}))`,
    ].join('; ')}'`,
  );

type Planted = {
  readonly yaml: string;
  readonly row: object;
  /** The shell command of the reference, where there is one. */
  readonly work: string | null;
  /** Attacks that are paid, and no others. */
  readonly holes: readonly string[];
};

const judge =
  'got=$(as-policy --timeout 5 sh ./work.sh); [ "$got" = 31415 ] && echo 1 > "$CORRAL_SCORE_FILE" || echo 0 > "$CORRAL_SCORE_FILE"';
const prints = 'echo "echo 31415" > work.sh';

const planted: Readonly<Record<string, Planted>> = {
  'recall-without-most': {
    yaml: environment(
      'recall-without-most',
      '{ kind: recall, answer: output_json.facts, reference: item.facts }',
    ),
    row: { id: 'a', facts: ['kinetic', 'fastify', 'zebra'] },
    work: null,
    holes: ['thousands-of-answers'],
  },
  'exit-code': {
    yaml: environment(
      'exit-code',
      command(
        'as-policy --timeout 5 sh ./work.sh && echo 1 > "$CORRAL_SCORE_FILE" || echo 0 > "$CORRAL_SCORE_FILE"',
      ),
    ),
    row: { id: 'a' },
    work: prints,
    holes: ['exits-well', 'false-reports', 'broken-work'],
  },
  'home-in-the-workspace': {
    yaml: environment(
      'home-in-the-workspace',
      command(
        'as-policy tar -c . | tar -x -C "$HOME"; python3 -c \'import os, pathlib; p = pathlib.Path.home() / "answer"; ok = p.exists() and p.read_text().strip() == "31415"; pathlib.Path(os.environ["CORRAL_SCORE_FILE"]).write_text(str(int(ok)))\'',
      ),
    ),
    row: { id: 'a' },
    work: 'echo 31415 > answer',
    holes: ['poisoned-home'],
  },
  'exposed-field': {
    yaml: environment('exposed-field', '{ kind: text, reference: item.answer }', { expose: 'hint' }),
    row: { id: 'a', answer: 'forty two zebras', hint: 'Forty-two zebras.' },
    work: null,
    holes: ['exposed-answer'],
  },
  'answer-somewhere': {
    yaml: environment('answer-somewhere', answerIs('1 if item["answer"] in said else 0')),
    row: { id: 'a', answer: 'zebra 7', corral: { reference: 'zebra 7' } },
    work: null,
    holes: ['thousands-of-answers', 'hedged-answer'],
  },
  // What is not above the bound was not compared: NaN is above nothing.
  'never-too-far': {
    yaml: environment('never-too-far', answerIs('0 if abs(float(said) - item["answer"]) > 0.1 else 1')),
    row: { id: 'a', answer: 31.5, corral: { reference: '31.5' } },
    work: null,
    holes: ['odd-json', 'special-numbers'],
  },
  'echo-counts': {
    yaml: `${environment('echo-counts', answerIs('1 if "forty" in said else 0'))}
dataset: { train: { file: echo-counts.items.jsonl, sha256: ${sha256('{"id":"a"}')} }, prompt: 'Write forty-two or forty-three, whichever is right for {item.id}.' }
`,
    row: { id: 'a' },
    work: null,
    holes: ['echoed-prompt'],
  },
  'calls-count': {
    yaml: environment('calls-count', '{ kind: calls, checked: { edits: [write], checks: [look] } }').replace(
      'tools: {',
      "tools: { write: { command: [touch, '{name}'], description: Writes., parameters: { name: { type: string, minLength: 1 } } }, look: { command: ['true'], description: Looks. },",
    ),
    row: { id: 'a' },
    work: null,
    holes: ['blind-calls'],
  },
  // A policy that is root in its own sandbox gets nothing by it: the sandbox of its grader has two users.
  'root-graded-elsewhere': {
    yaml: environment('root-graded-elsewhere', elsewhere(`${judge}; sleep 0.3`), { runAs: 'root' }),
    row: { id: 'a' },
    work: prints,
    holes: [],
  },
};

let corral: FleetOfTest;
let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'corral-attack-'));
  for (const [name, { yaml, row, work }] of Object.entries(planted)) {
    writeFileSync(join(folder, `${name}.yaml`), yaml);
    writeFileSync(join(folder, `${name}.items.jsonl`), JSON.stringify(row));
    if (work === null) continue;
    mkdirSync(join(folder, name));
    const calls = [{ tool: 'shell', arguments: { command: work } }];
    writeFileSync(
      join(folder, name, 'policies.yaml'),
      JSON.stringify({ policies: [{ name: 'works', kind: 'reference', calls, expect: 1 }] }),
    );
  }
  const environments = Object.entries(planted).map(([name, { yaml }]) => [name, yaml] as const);
  corral = await startFleetOfTest({ environments: Object.fromEntries(environments) });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await corral.stop();
});

const corralHere = (...args: readonly string[]) => {
  const { gatewayUrl, apiKey } = corral.fleet;
  return runCorral([...args, '--url', gatewayUrl, '--key', apiKey, '--environments', folder]);
};

test.each(Object.entries(planted))(
  'the holes of %s are found by their names, with what to do',
  async (name, { holes, work }) => {
    const gate = work === null ? [] : ['--gate'];
    const { exitCode, printed } = await corralHere('attack', name, '--tries', '1', '--json', ...gate);
    const report = JSON.parse(printed) as AttackReport & { readonly gate?: Gate };
    expect(report.gate?.open).toBe(work === null ? undefined : holes.length === 0);
    const open = report.attacks.filter(({ state }) => state !== 'withstood' && state !== 'not possible');
    expect(open).toMatchObject(
      holes.map((attack) => ({ attack, state: 'hole', detail: expect.stringContaining('to do: ') })),
    );
    expect(exitCode).toBe(holes.length > 0 ? exitCodes.notInOrder : exitCodes.done);
  },
  240_000,
);

test.each(Object.entries(planted).filter(([, { work }]) => work !== null))(
  'the reference of %s is paid in full, so what its attacks got was not for want of a working reward',
  async (name) => {
    expect(await corralHere('ladder', name)).toMatchObject({ exitCode: exitCodes.done });
  },
);
