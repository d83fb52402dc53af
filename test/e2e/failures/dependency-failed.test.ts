import { chmod, mkdtemp, rm, truncate } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '#test/support/eventually.ts';
import { expectFailure } from '#test/support/faces.ts';
import { type JoinedFleet, joinSharedFleet } from '#test/support/shared-fleet.ts';

const environment = (name: string, tools: string) => `
name: ${name}
sandbox: { image: host, disk: 64Mi }
tools:
${tools}
grader: { kind: text, reference: item.answer }
pool: { min_ready: 2, max: 6 }
`;

/** The backend, as gateways see it: they probe it once a second. */
let isUp = true;
const backend = createServer((_request, response) => {
  response.writeHead(isUp ? 200 : 503).end();
});
await new Promise<void>((resolve) => void backend.listen(0, '127.0.0.1', resolve));
const { port } = backend.address() as AddressInfo;

const depends = `dependency: { exit_code: 75, probe: "http://127.0.0.1:${port}/health", every_s: 1 }`;
const search = "[sh, -c, 'echo index down >&2; exit 75']";
/** Fails at its first run in a sandbox. */
const flaky = "[sh, -c, 'test -e tried && echo found && exit; touch tried; exit 75']";
const environments = {
  search: environment(
    'search',
    `  search: { command: ${search}, ${depends}, parameters: {} }
  chosen: { command: [sh, -c, "{command}"], ${depends} }
  flaky: { command: ${flaky}, ${depends}, idempotent: true, parameters: {} }
  say: { command: [echo, "{text}"] }`,
  ),
};

let corral: JoinedFleet;
let data: string;
beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'corral-database-'));
  await chmod(data, 0o755);
  await makeDatabase(join(data, 'lines.db'));
  corral = await joinSharedFleet({ ...environments, indexed: indexed(data) });
});
afterAll(async () => {
  backend.close();
  backend.closeAllConnections();
  await corral.leave();
  await rm(data, { recursive: true, force: true });
});

const indexed = (source: string) =>
  environment(
    'indexed',
    `  shell: { builtin: shell }
  look_up: { index: { database: /data/lines.db, sql: 'SELECT text FROM lines WHERE number = :number' } }`,
  ).replace('disk: 64Mi', `disk: 64Mi, data: [{ source: ${source}, target: /data }]`);

async function makeDatabase(path: string): Promise<void> {
  const database = new DatabaseSync(path);
  database.exec(`CREATE TABLE lines (number INTEGER PRIMARY KEY, text TEXT);
    WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 5000)
    INSERT INTO lines SELECT x, 'line ' || x FROM n`);
  database.close();
  await chmod(path, 0o644);
}

const failed = {
  status: 503,
  code: 'dependency_failed',
  blame: 'infrastructure',
  retryable: false,
  tainted: true,
} as const;
const inSearch = { environment: 'search' };
const searchIn = (trace: string) =>
  corral.rft.call({ trace, call: 'c1', tool: 'search', arguments: {}, ...inSearch });

const programs = [`mawk -- 'BEGIN{exit 75}'`, 'sed -- q75 /etc/passwd', 'echo exit 75 | sh -s'];
const chosen = (trace: string, command: string) =>
  corral.rft.call({ trace, call: 'c1', tool: 'chosen', arguments: { command }, ...inSearch });

test.each(programs)(
  'the exit code of %s beside a good backend is the model’s: 200, and a score',
  async (program) => {
    const trace = `good-${programs.indexOf(program)}`;
    const answer = await chosen(trace, program);
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toMatchObject({ output: expect.stringContaining('[exit code 75]') as string });
    expect(await corral.rft.grade({ trace, ...inSearch })).toMatchObject({ status: 200 });
  },
);

test('an idempotent tool whose backend is good runs once more, and its second answer is final: 200', async () => {
  const call = { trace: 'flaky', call: 'c1', tool: 'flaky', arguments: {}, ...inSearch };
  expect(await corral.rft.call(call)).toMatchObject({ status: 200, body: { output: 'found\n' } });
  expect(await corral.rft.call(call)).toMatchObject({ status: 200, body: { output: 'found\n' } });
});

describe('while the backend is down', () => {
  beforeAll(() => void (isUp = false));
  afterAll(() => void (isUp = true));

  const evidence = {
    tool: 'search',
    exit_code: 75,
    said: 'index down\n',
    probe: `127.0.0.1:${port}`,
    probed: 'answered 503',
  };

  test('a tool that reports it: 503, and the rollout is never scored', async () => {
    const told = { ...failed, rollout_id: 'rft', call_id: 'c1', evidence };
    expectFailure(await searchIn('rft'), { ...told, admitted: 'yes' });
    const say = { tool: 'say', arguments: { text: 'hi' }, ...inSearch };
    expectFailure(await corral.rft.call({ trace: 'rft', call: 'c2', ...say }), { ...failed, admitted: 'no' });
    expectFailure(await corral.rft.grade({ trace: 'rft', ...inSearch }), { ...failed, admitted: 'no' });
  });

  test('the same on the native face: 503, and the view says discard, without a mark', async () => {
    await corral.native.open('native', 'search');
    const searchCall = { call_id: 'c1', name: 'search', arguments: {} };
    const answer = await corral.native.post('/v1/rollouts/native/calls', searchCall);
    expectFailure(answer, { ...failed, admitted: 'yes', evidence });
    const view = await corral.native.get('/v1/rollouts/native');
    expect(view.body).toMatchObject({ verdict: { kind: 'discard', code: 'dependency_failed' } });
    expect(view.body).not.toHaveProperty('verdict.suspected');
  });

  test('a call that reports nothing is answered', async () => {
    expect(await chosen('honest', 'exit 1')).toMatchObject({ status: 200 });
  });
});

test('when the backend is good again, so is what the tool reports: the model’s', async () => {
  let tries = 0;
  await eventually(() => searchIn(`again-${(tries += 1)}`), { status: 200 });
});

test('a database that cannot be read any more: 503 also where the trainer runs commands beside it, and no rollout is scored for it', async () => {
  const inIndexed = { environment: 'indexed' };
  const lookUp = { tool: 'look_up', arguments: { number: '4000' }, ...inIndexed };
  await corral.native.open('acted', 'indexed');
  await corral.native.post('/v1/rollouts/acted/exec', { call_id: 'e1', argv: ['true'] });
  const call = { call_id: 'c1', name: 'look_up', arguments: { number: '4000' } };
  expect(await corral.native.post('/v1/rollouts/acted/calls', call)).toMatchObject({ status: 200 });
  expect(await corral.rft.call({ trace: 'broken', call: 'c1', ...lookUp })).toMatchObject({
    status: 200,
    body: { output: '{"text":"line 4000"}\n' },
  });
  await truncate(join(data, 'lines.db'), 8_192);
  const told = { ...failed, admitted: 'yes' } as const;
  expectFailure(await corral.rft.call({ trace: 'broken', call: 'c2', ...lookUp }), told);
  expectFailure(await corral.rft.grade({ trace: 'broken', ...inIndexed }), { ...failed, admitted: 'no' });
  expectFailure(await corral.native.post('/v1/rollouts/acted/calls', { ...call, call_id: 'c2' }), told);
});
