import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AttackReport } from '#cli/attack/attack.ts';
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
    holes: ['exits-well', 'false-reports'],
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
  async (name, { holes }) => {
    const { exitCode, printed } = await corralHere('attack', name, '--tries', '1', '--json');
    const report = JSON.parse(printed) as AttackReport;
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
