import { chmod, mkdtemp, rm, truncate } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
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

const search = "[sh, -c, 'echo index down >&2; exit 75']";
const environments = {
  search: environment(
    'search',
    `  search: { command: ${search}, infrastructure_exit: 75, parameters: {} }\n  say: { command: [echo, "{text}"] }`,
  ),
  undeclared: environment(
    'undeclared',
    `  shell: { builtin: shell }\n  search: { command: ${search}, parameters: {} }`,
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
const evidence = { tool: 'search', exit_code: 75, said: 'index down\n' };

const inSearch = { environment: 'search' };

test('a tool whose own backend failed by its word: 503, and the rollout is never scored', async () => {
  const call = await corral.rft.call({
    trace: 'rft',
    call: 'c1',
    tool: 'search',
    arguments: {},
    ...inSearch,
  });
  expectFailure(call, { ...failed, admitted: 'yes', rollout_id: 'rft', call_id: 'c1', evidence });
  const say = { tool: 'say', arguments: { text: 'hi' }, ...inSearch };
  expectFailure(await corral.rft.call({ trace: 'rft', call: 'c2', ...say }), { ...failed, admitted: 'no' });
  expectFailure(await corral.rft.grade({ trace: 'rft', ...inSearch }), { ...failed, admitted: 'no' });
});

const searchCall = { call_id: 'c1', name: 'search', arguments: {} };

test('the same on the native face: 503, and the view says discard', async () => {
  await corral.native.open('native', 'search');
  const answer = await corral.native.post('/v1/rollouts/native/calls', searchCall);
  expectFailure(answer, { ...failed, admitted: 'yes', evidence });
  const view = await corral.native.get('/v1/rollouts/native');
  expect(view.body).toMatchObject({ verdict: { kind: 'discard', code: 'dependency_failed' } });
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

test('the same exit code from a program that the model chose is the model’s: 200', async () => {
  const answer = await corral.rft.call({
    trace: 'own',
    call: 'c1',
    command: 'exit 75',
    environment: 'undeclared',
  });
  expect(answer).toMatchObject({ status: 200, body: { output: '[exit code 75]' } });
});
