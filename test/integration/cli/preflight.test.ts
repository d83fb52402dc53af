import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import type { PreflightReport } from '#cli/preflight/report.ts';
import { runCorral } from '#test/support/command-line.ts';
import { environmentFolder } from '#test/support/environment-folder.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '#test/support/fleet.ts';

/** Its grader never works, and a bad ending counts as a zero. */
const broken = `
name: broken
sandbox: { image: host, disk: 64Mi, env: { PATH: "/workspace:/usr/bin:/bin" } }
tools: { read_file: { builtin: read_file } }
grader: { kind: command, command: [sh, -c, 'exit 3'], on_exit: 0, on_timeout: 0, on_out_of_memory: 0, on_broken: 0 }
pool: { min_ready: 0, max: 4 }
`;

/** One of its tools runs a program that is nowhere. */
const lacking = `
name: lacking
sandbox: { image: host, disk: 64Mi }
tools:
  shell: { builtin: shell }
  look_up: { command: [no-such-program, "{query}"], description: looks up, parameters: { query: string } }
grader: { kind: text, answer: output_text, reference: item.answer, match: exact }
pool: { min_ready: 0, max: 4 }
`;

/** No sandbox of it starts. */
const unprepared = `
name: unprepared
sandbox: { image: host, disk: 64Mi, prepare: [[sh, -c, 'echo no index >&2; exit 4']] }
tools: { shell: { builtin: shell } }
grader: { kind: text, answer: output_text, reference: item.answer, match: exact }
pool: { min_ready: 0, max: 2 }
`;

/** Its grader works where the policy never was: an untouched sandbox leaves it nothing, and that is no broken grader. */
const elsewhere = `
name: elsewhere
sandbox: { image: host, disk: 64Mi }
tools: { shell: { builtin: shell } }
grader:
  kind: command
  grade_in: fresh
  artifacts: [said]
  on_artifacts: 0.125
  command: [sh, -c, 'as-policy cat said > "$CORRAL_SCORE_FILE"']
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0
pool: { min_ready: 0, max: 4, grader: { max: 2 } }
`;

/** Rows say how much memory their tasks demand. */
const demanding = `
name: demanding
sandbox: { image: host, disk: 64Mi, memory: { request: 64Mi, limit: 128Mi, from: item.memory } }
grader: { kind: none }
pool: { min_ready: 0, max: 4 }
`;

/** As it is shipped: any image, from the row. */
const sandbox = readFileSync(join(import.meta.dirname, '../../../environments/sandbox.yaml'), 'utf8');

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({
    environments: { shell: shellEnvironment, broken, lacking, elsewhere, sandbox, unprepared, demanding },
  });
});
afterAll(() => corral.stop());

const preflight = (...options: readonly string[]) => {
  const { gatewayUrl, apiKey } = corral.fleet;
  const there = ['--url', gatewayUrl, '--key', apiKey, '--hold', '0'];
  return runCorral(['preflight', ...options, ...there]);
};

test('an environment in order has every tool, its grader and its closed network told, and the job to paste', async () => {
  // Reserved for documentation (RFC 5737): nobody is there, wherever this runs.
  const { exitCode, printed } = await preflight('--json', '--rows', '1', '--probe', '192.0.2.1:9', 'shell');
  const report = JSON.parse(printed) as PreflightReport;
  expect(exitCode).toBe(exitCodes.done);
  expect(report.checks.map(({ what }) => what)).toEqual([
    'tool shell',
    'grader after those calls',
    'grader of an untouched sandbox',
    'reference answer',
    'cheating answer',
    'what the policy can write',
    'what it shares with its machine',
    'egress',
    'a body near 1 MB',
  ]);
  expect(report.egress['shell']).toEqual({
    state: 'closed',
    tried: [{ what: '192.0.2.1:9', address: '192.0.2.1:9', seen: 'ENETUNREACH' }],
  });
  expect(report.jobs['shell']).toMatchObject({ tools: [{ name: 'shell' }] });
});

test('an environment whose sandboxes cannot start is told with the reason, and nothing else of it is tried', async () => {
  const { exitCode, printed } = await preflight('--json', 'unprepared');
  expect(exitCode).not.toBe(exitCodes.done);
  const { checks } = JSON.parse(printed) as PreflightReport;
  expect(checks).toMatchObject([
    {
      what: 'a sandbox',
      ok: false,
      detail: expect.stringMatching(/exit code 4: no index.* \(setup_failed\)$/),
    },
  ]);
});

test('a task that demands more than there is is named, and the others are tried', async () => {
  await using folder = await environmentFolder({
    'rows.jsonl': '{"id":"small","memory":"256Mi"}\n{"id":"huge","memory":"32Ti"}\n',
  });
  const { printed } = await preflight('--json', '--items', join(folder.path, 'rows.jsonl'), 'demanding');
  const { checks } = JSON.parse(printed) as PreflightReport;
  expect(checks.filter(({ ok }) => !ok)).toMatchObject([
    {
      what: 'row 2: a sandbox',
      detail: expect.stringMatching(/^task huge: .* 33554432 MiB of memory, but one machine has/),
    },
  ]);
  expect(checks).toContainEqual(
    expect.objectContaining({ what: 'row 1: score brought at the end', ok: true }),
  );
});

test('an environment whose rows name their images is not tried without rows, and that is said', async () => {
  const { exitCode, printed } = await preflight('sandbox');
  expect(printed).toMatch(/sandbox +an image .* not tried: its rows name their images/);
  expect(exitCode).not.toBe(exitCodes.done);
});

test('a person reads in one line whether sandboxes are closed', async () => {
  const { printed } = await preflight('shell');
  expect(printed).toMatch(/^ok +shell +egress .* closed: it has no address but its own/m);
  expect(printed).toContain('Everything is in order.');
});

test('with --hide-key and --no-egress its output may be kept by others, and nobody is tried to be reached', async () => {
  const { exitCode, printed } = await preflight('--hide-key', '--no-egress', 'shell');
  expect(exitCode).toBe(exitCodes.done);
  expect(printed).toContain('Bearer $CORRAL_KEY');
  expect(printed).not.toContain(corral.fleet.apiKey);
  expect(printed).not.toMatch(/egress/);
});

test('an environment that is not there is the caller’s mistake, and the ones that are there are named', async () => {
  const { exitCode, said } = await preflight('shall');
  expect(exitCode).toBe(exitCodes.yours);
  expect(said).toMatch(
    /there is no environment shall\n.*\n.*there is: broken, demanding, elsewhere, lacking, sandbox, shell, unprepared/,
  );
});

test('a grader that fails on an untouched sandbox is broken, whatever score its bad ending has', async () => {
  const { exitCode, printed } = await preflight('--json', 'broken');
  expect(exitCode).not.toBe(exitCodes.done);
  expect((JSON.parse(printed) as PreflightReport).checks).toContainEqual(
    expect.objectContaining({
      what: 'grader of an untouched sandbox',
      ok: false,
      detail: expect.stringMatching(
        /^score 0.*, but by a bad ending, and nothing had run: the grader is broken: .*exit code 3/,
      ),
    }),
  );
});

test('a folder on PATH that the policy can write is not in order: a grader would run what the policy put there', async () => {
  const { printed } = await preflight('--json', 'broken');
  expect((JSON.parse(printed) as PreflightReport).checks).toContainEqual(
    expect.objectContaining({
      what: 'what the policy can write',
      ok: false,
      detail: expect.stringContaining(
        'programs on PATH: /workspace; a grader must not run or read anything there',
      ),
    }),
  );
});

test('a tool whose program is not in the image is found before a job is, with tool, program and image', async () => {
  const { exitCode, printed } = await preflight('--json', 'lacking');
  expect(exitCode).not.toBe(exitCodes.done);
  expect((JSON.parse(printed) as PreflightReport).checks).toContainEqual(
    expect.objectContaining({
      what: 'tool look_up',
      ok: false,
      detail: expect.stringContaining('the image host lacks programs'),
    }),
  );
});

test('an environment whose grader works elsewhere is in order, though an untouched sandbox leaves nothing for it', async () => {
  const { exitCode, printed } = await preflight('--json', '--no-egress', 'elsewhere');
  expect((JSON.parse(printed) as PreflightReport).checks).toContainEqual(
    expect.objectContaining({ what: 'grader of an untouched sandbox', ok: true, detail: 'score 0.125' }),
  );
  expect(exitCode).toBe(exitCodes.done);
});
