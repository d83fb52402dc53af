import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import type { RegradeReport } from '#cli/regrade/report.ts';
import { runCorral } from '#test/support/command-line.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/* A run is played and graded once; then newer graders look at what was kept of it. */

const yaml = (name: string, keep: boolean) => `
name: ${name}
sandbox: { image: host, disk: 64Mi, memory: 256Mi, processes: 64 }
tools: { shell: { builtin: shell } }
grader: { kind: text, match: exact, reference: item.answer }
keep: ${keep}
pool: { min_ready: 2, max: 6 }
`;
const secret = 'corral-judge-secret';

let corral: FleetOfTest;
let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'corral-regrade-'));
  corral = await startFleetOfTest({
    environments: { kept: yaml('kept', true), unkept: yaml('unkept', false) },
  });
  await play('right', ['cat lib/a.ts', 'echo 1'], 'forty-two');
  await play('loud', ['echo 1', 'echo 2', 'echo 3'], 'Forty-two!');
  await play('wrong', [], 'seven');
  await play('elsewhere', [], 'forty-two', 'unkept');
});
afterAll(async () => {
  await corral.stop();
  rmSync(folder, { recursive: true });
});

async function play(trace: string, commands: readonly string[], answer: string, environment = 'kept') {
  const item = { id: trace, answer: 'forty-two', main: 'lib/a.ts' };
  for (const [index, command] of commands.entries())
    expect(await corral.rft.call({ trace, call: `c${index}`, command, environment, item })).toMatchObject({
      status: 200,
    });
  const graded = await corral.rft.grade({ trace, environment, item, sample: { output_text: answer } });
  expect(graded).toMatchObject({ status: 200 });
}

async function corralRegrade(grader: string, ...more: readonly string[]) {
  const file = join(folder, 'newer.yaml');
  writeFileSync(file, `grader: ${grader}\n`);
  const { stateDir } = corral.fleet;
  const ran = await runCorral(['regrade', 'development', '--grader', file, '--state', stateDir, ...more]);
  return { ...ran, report: () => JSON.parse(ran.printed) as RegradeReport };
}

const scores = ({ rollouts }: RegradeReport) =>
  Object.fromEntries(rollouts.map((one) => [one.rollout, [one.old, one.new]]));

test('a comparison that is kinder gives new scores beside the old ones, and rollouts that were not kept are not there', async () => {
  const { exitCode, report } = await corralRegrade(
    '{ kind: text, match: normalised, reference: item.answer }',
    '--json',
  );
  expect(scores(report())).toEqual({ right: [1, 1], loud: [0, 1], wrong: [0, 0] });
  expect(report().summary).toEqual({
    rollouts: 3,
    regraded: 3,
    higher: 1,
    lower: 0,
    same: 2,
    old_mean: 1 / 3,
    new_mean: 2 / 3,
  });
  expect(exitCode).toBe(exitCodes.done);
});

test('what a rollout did is graded as it was: calls, their outputs and how many there were', async () => {
  const grader = `
  kind: penalty
  free_calls: 2
  each: 0.25
  grader: { kind: calls, opened: { reference: item.main, tools: { shell: command } } }`;
  const { report } = await corralRegrade(grader, '--json');
  // Nobody opened the file by its name alone.
  expect(scores(report())).toEqual({ right: [1, 0], loud: [0, 0], wrong: [0, 0] });
  const counted =
    '{ kind: penalty, free_calls: 2, each: 0.25, grader: { kind: text, match: normalised, reference: item.answer } }';
  expect(scores((await corralRegrade(counted, '--json')).report())).toMatchObject({
    right: [1, 1],
    loud: [0, 0.75],
  });
});

test('a program looks at the whole rollout in a sandbox of its own, and the fleet’s own records stay as they were', async () => {
  const count =
    'import json,os; r=json.load(open(os.environ["CORRAL_ROLLOUT"])); open(os.environ["CORRAL_SCORE_FILE"],"w").write(str(len(r["calls"])/4))';
  const grader = `{ kind: command, command: [python3, -c, ${JSON.stringify(count)}], timeout: 60s, on_exit: 0, on_timeout: 0, on_out_of_memory: 0, on_broken: 0 }`;
  const { report, exitCode } = await corralRegrade(grader, '--json');
  expect(scores(report())).toEqual({ right: [1, 0.5], loud: [0, 0.75], wrong: [0, 0] });
  expect(exitCode).toBe(exitCodes.done);
  const story = await runCorral(['rollout', 'loud', '--state', corral.fleet.stateDir, '--json']);
  expect(JSON.parse(story.printed)).toMatchObject({ score: 0 });
});

test('a judge that fails gives nobody a new score: it is told, counted in no mean, and the command says so', async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      asked.push(body);
      const fails = body.includes('"trace_id":"wrong"');
      response.writeHead(fails ? 500 : 200, { 'content-type': 'application/json' });
      response.end(fails ? `busy ${request.headers['authorization']}` : '{"score": 0.5, "reason": "half"}');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  vi.stubEnv('CORRAL_SECRET_JUDGE', secret);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const grader = `{ kind: http, url: "${url}", headers: { authorization: { secret: JUDGE } }, calls: true, retries: 0, on_refused: 0 }`;
  try {
    const { report, exitCode, printed } = await corralRegrade(grader, '--json');
    expect(scores(report())).toEqual({ right: [1, 0.5], loud: [0, 0.5], wrong: [0, null] });
    expect(report().rollouts.find(({ rollout }) => rollout === 'wrong')?.why).toContain('grader_failed');
    expect(report().summary).toMatchObject({ rollouts: 3, regraded: 2, old_mean: 0.5, new_mean: 0.5 });
    expect(exitCode).toBe(exitCodes.notInOrder);
    expect(printed).not.toContain(secret);
    expect(asked.find((body) => body.includes('"trace_id":"right"'))).toContain('cat lib/a.ts');
  } finally {
    vi.unstubAllEnvs();
    server.close();
    server.closeAllConnections();
  }
});

test.each([
  ['looks into the sandbox', 'as-policy cat x', 'as-policy'],
  ['does not look at the rollout', 'echo 1', 'does not name CORRAL_ROLLOUT'],
])('a program that %s is refused before anything is asked', async (_what, script, said) => {
  const grader = `{ kind: command, command: [sh, -c, ${JSON.stringify(script)}], on_exit: 0, on_timeout: 0, on_out_of_memory: 0, on_broken: 0 }`;
  const refused = await corralRegrade(grader);
  expect(refused).toMatchObject({ exitCode: exitCodes.yours, said: expect.stringContaining(said) as string });
});

test('the table has old and new side by side, and says that nothing was changed', async () => {
  const { printed } = await corralRegrade('{ kind: text, match: normalised, reference: item.answer }');
  expect(printed).toMatch(/loud +loud +0\.000 +1\.000 +\+1\.000/);
  expect(printed).toMatch(
    /3 of 3 rollouts: mean 0\.333 before, 0\.667 now[^]*No stored score was changed\.$/,
  );
});

test('no address of the fleet tells what was kept', async () => {
  const { gatewayUrl, apiKey } = corral.fleet;
  const headers = { authorization: `Bearer ${apiKey}` };
  for (const path of ['/v1/rollouts/right/events', '/v1/runs/development/events']) {
    const told = await (await fetch(`${gatewayUrl}${path}`, { headers })).text();
    expect(told).toContain('"kind":"verdict"');
    expect(told).not.toContain('toolCalls');
  }
});
