import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type ExtraGateway, startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { formatKeyFile, parseKeyFile } from '#src/access/key-file.ts';
import { createKey, type Scope } from '#src/access/keys.ts';
import { tenantId } from '#src/model/ids.ts';
import { systemRandom } from '#src/platform/random.ts';
import { CallSearchAnswer, CallTextsAnswer, ConsoleRolloutAnswer } from '#src/protocol/console/rollout.ts';
import { RunAnswer, SearchAnswer } from '#src/protocol/console/run.ts';
import { RunsAnswer } from '#src/protocol/console/runs.ts';
import { SessionAnswer } from '#src/protocol/console/session.ts';
import { FleetHistoryAnswer } from '#src/protocol/console/fleet.ts';
import { FleetAnswer } from '#src/protocol/native/fleet.ts';
import { type ConsoleOfTest, startConsole } from '../support/console.ts';
import { type Faces, facesOf } from '../support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '../support/fleet.ts';

/* A console over a real fleet of two gateways, each with an event log of its own. */

const environment = `
name: kept
sandbox: { image: host, disk: 64Mi, memory: 256Mi, processes: 64 }
tools: { shell: { builtin: shell } }
grader: { kind: text, match: exact, reference: item.answer }
keep: all
pool: { min_ready: 2, max: 6 }
`;

let world: FleetOfTest;
let other: ExtraGateway;
let site: ConsoleOfTest;
beforeAll(async () => {
  world = await startFleetOfTest({ environments: { kept: environment } });
  const { stateDir, gatewayUrl, apiKey } = world.fleet;
  const otherEvents = join(stateDir, 'events-of-the-other');
  other = await startExtraGateway(world.fleet, world.environmentsDir, undefined, {
    CORRAL_EVENT_LOG_DIR: otherEvents,
  });
  await playAll(facesOf(gatewayUrl, apiKey, { environment: 'kept' }), 'here');
  await playAll(facesOf(other.url, apiKey, { environment: 'kept' }), 'there');
  site = await startConsole(gatewayUrl, {
    CORRAL_CONSOLE_KEPT_DIR: join(stateDir, 'events/kept'),
    CORRAL_CONSOLE_CODE: 'the-code',
    CORRAL_CONSOLE_CODE_UNTIL_MS: String(Date.now() + 600_000),
    CORRAL_DEVELOPMENT_KEY: apiKey,
  });
  await addKeys();
});
afterAll(async () => {
  await site.stop();
  await other.stop();
  await world.stop();
});

async function playAll(faces: Faces, name: string): Promise<void> {
  for (const [at, answer] of ['forty-two', 'no'].entries()) {
    const trace = `${name}-${at}`;
    const item = { id: 'row-1', answer: 'forty-two' };
    const asked = {
      trace,
      call: 'c1',
      command: `echo ${name} said ${answer}; echo $((1 + 1)) times ${name}`,
      item,
    };
    expect(await faces.rft.call(asked)).toMatchObject({ status: 200 });
    const graded = await faces.rft.grade({ trace, item, sample: { output_text: answer } });
    expect(graded).toMatchObject({ status: 200 });
  }
}

const people = {
  stranger: { tenant: 'elsewhere', scopes: ['watch', 'truth'] },
  watcher: { tenant: 'development', scopes: ['watch'] },
  player: { tenant: 'development', scopes: ['native', 'rft:tools'] },
  leaver: { tenant: 'development', scopes: ['watch'] },
} as const satisfies Readonly<Record<string, { readonly tenant: string; readonly scopes: readonly Scope[] }>>;
type Person = keyof typeof people;

const keysFile = () => join(world.fleet.stateDir, 'keys.json');
const presentedBy = new Map<string, string>();

/** Their keys in the fleet's own file; resolves when gateways know them. */
async function addKeys(): Promise<void> {
  const created = Object.entries(people).map(([id, { tenant, scopes }]) => {
    const known = { id, tenant: tenantId(tenant), scopes, defaultRun: null, expiresAtMs: null };
    const { key, presented } = createKey(known, systemRandom);
    presentedBy.set(id, presented);
    return key;
  });
  writeFileSync(keysFile(), formatKeyFile([...parseKeyFile(readFileSync(keysFile(), 'utf8')), ...created]));
  await vi.waitUntil(async () => (await statusOf(keyOf('leaver'))) === 200, { timeout: 60_000 });
}

const keyOf = (person: Person): string => presentedBy.get(person) ?? '';

const statusOf = async (key: string): Promise<number> =>
  (await fetch(`${world.fleet.gatewayUrl}/v1/key`, { headers: { authorization: `Bearer ${key}` } })).status;

const logIn = async () => expect((await site.logIn({ key: world.fleet.apiKey })).status).toBe(200);
const runPath = '/api/runs/development';

test('without a session every address of data refuses, and a cookie of another makes no difference', async () => {
  const fleet = ['/api/fleet', '/api/fleet/history'];
  for (const path of ['/api/session', '/api/runs', runPath, ...fleet, `${runPath}/rollouts/here-0`]) {
    expect((await site.send(path)).status).toBe(401);
    expect((await site.send(path, { headers: { cookie: 'corral-1=x' } })).status).toBe(401);
  }
});

test('the code of the first log-in works once, and its session tells whose it is', async () => {
  const answer = await site.logIn({ code: 'the-code' });
  expect(answer.status).toBe(200);
  expect(answer.headers.getSetCookie()[0]).toMatch(
    /^corral-\d+=[a-z0-9]{50}; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  const session = await site.read('/api/session', SessionAnswer);
  expect(session).toMatchObject({ key: 'development', tenant: 'development' });
  expect((await site.logIn({ code: 'the-code' })).status).toBe(401);
});

test('a run has the rollouts of both processes, with step, item, reward and the gain over their group', async () => {
  await logIn();
  const run = await site.read(runPath, RunAnswer);
  expect(run.columns.id.toSorted()).toEqual(['here-0', 'here-1', 'there-0', 'there-1']);
  expect(run.counts).toMatchObject({ rollouts: 4, scored: 4, discarded: 0, unfinished: 0, calls: 4 });
  expect(run.items).toEqual(['row-1']);
  expect(run.verbs).toEqual(['echo']);
  expect(run.missing).toEqual([]);
  const row = run.columns.id.indexOf('there-0');
  expect([run.columns.score[row], run.columns.strip[row], run.columns.item[row]]).toEqual([1, 'a', 0]);
  expect(run.mean).toBe(0.5);
});

test('a page that has the newest state of a run gets nothing again', async () => {
  await logIn();
  const { rev } = await site.read(runPath, RunAnswer);
  expect((await site.send(`${runPath}?rev=${rev}`)).status).toBe(204);
});

test('a search finds rollouts by their commands', async () => {
  await logIn();
  const { columns } = await site.read(runPath, RunAnswer);
  const { rows } = await site.read(`${runPath}/search?q=SAID%20no`, SearchAnswer);
  expect(new Set(rows.map((row) => columns.id[row]))).toEqual(new Set(['here-1', 'there-1']));
});

test('a search in outputs finds what no command says, and tells of how many rollouts outputs are kept', async () => {
  await logIn();
  const { columns } = await site.read(runPath, RunAnswer);
  const namesIn = async (query: string) => {
    const { rows, outputs } = await site.read(`${runPath}/search?${query}`, SearchAnswer);
    return { ids: rows.flatMap((row) => columns.id[row] ?? []), outputs };
  };
  // The command has the sum in place of its result. What the other gateway keeps is not here.
  expect((await namesIn('q=2%20times%20here')).ids).toEqual([]);
  const found = await namesIn('q=2%20TIMES%20here&in=outputs');
  expect(found.ids.toSorted()).toEqual(['here-0', 'here-1']);
  expect(found.outputs).toEqual({ rollouts: 2, whole: true });
  const byCommand = await namesIn('q=said%20no&in=outputs');
  expect(byCommand.ids.toSorted()).toEqual(['here-1', 'there-1']);
});

test('a search in a rollout finds its calls by what they returned', async () => {
  await logIn();
  const search = `${runPath}/rollouts/here-1/search?attempt=1`;
  expect(await site.read(`${search}&q=2%20times%20HERE`, CallSearchAnswer)).toEqual({ calls: ['c1'] });
  expect(await site.read(`${search}&q=not%20there`, CallSearchAnswer)).toEqual({ calls: [] });
});

test('a rollout has its calls, their texts, its answer and why it has its score', async () => {
  await logIn();
  const rollout = await site.read(`${runPath}/rollouts/here-1`, ConsoleRolloutAnswer);
  expect(rollout).toMatchObject({ id: 'here-1', item: 'row-1', score: 0, reads_truth: true, discard: null });
  expect(rollout.why).toMatchObject({ reference: { 'item.answer': 'forty-two' } });
  expect(rollout.remembered?.state).toBe('closed');
  const [call] = rollout.calls;
  expect(call).toMatchObject({ id: 'c1', verb: 'echo', outcome: 'completed', exit_code: 0 });
  expect(call?.output?.text).toContain('here said no');
  const texts = await site.read(`${runPath}/rollouts/here-1/calls/c1`, CallTextsAnswer);
  expect(texts.asked?.text).toContain('echo here said no');
});

test('a text that another process keeps is missing, and never of another rollout', async () => {
  await logIn();
  const rollout = await site.read(`${runPath}/rollouts/there-0`, ConsoleRolloutAnswer);
  expect(rollout.calls[0]).toMatchObject({
    output: null,
    asked: { text: expect.stringContaining('echo there') },
  });
});

test('a download is an attachment that no browser runs', async () => {
  await logIn();
  const answer = await site.send(`${runPath}/rollouts/here-0/download`);
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="here-0.jsonl"');
  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(answer.headers.get('content-security-policy')).toContain('sandbox');
  expect(await answer.text()).toContain('"kind":"call_text"');
});

test('the runs of the tenant and the fleet are what the gateway has', async () => {
  await logIn();
  const { runs } = await site.read('/api/runs', RunsAnswer);
  expect(runs).toMatchObject([{ run: 'development', rollouts: 4, scored: 4, mean: 0.5 }]);
  expect((await site.read('/api/fleet', FleetAnswer)).sees).toBe('all tenants');
  const history = await site.read('/api/fleet/history?minutes=60', FleetHistoryAnswer);
  expect(history.at_ms.length).toBeGreaterThan(0);
  expect((await site.send('/api/fleet/history?minutes=1h')).status).toBe(400);
});

test('a key of another tenant sees nothing of it, on any address', async () => {
  expect((await site.logIn({ key: keyOf('stranger') })).status).toBe(200);
  expect((await site.read('/api/runs', RunsAnswer)).runs).toEqual([]);
  const run = await site.read(runPath, RunAnswer);
  expect([run.counts.rollouts, run.columns.id, run.environment]).toEqual([0, [], '']);
  for (const path of ['', '/calls/c1', '/download', '/search?q=times'])
    expect((await site.send(`${runPath}/rollouts/here-0${path}`)).status).toBe(404);
  expect((await site.read(`${runPath}/search?q=echo`, SearchAnswer)).rows).toEqual([]);
  const { rows, outputs } = await site.read(`${runPath}/search?q=echo&in=outputs`, SearchAnswer);
  expect([rows, outputs]).toEqual([[], { rollouts: 0, whole: true }]);
});

test('a key without truth reads calls and no reference, part or item', async () => {
  expect((await site.logIn({ key: keyOf('watcher') })).status).toBe(200);
  const rollout = await site.read(`${runPath}/rollouts/here-1`, ConsoleRolloutAnswer);
  expect(rollout).toMatchObject({ why: null, item: null, reads_truth: false, score: 0 });
  expect(rollout.calls).toHaveLength(1);
  expect(JSON.stringify(await site.read(runPath, RunAnswer))).not.toContain('forty-two"');
});

test('a key that plays rollouts opens no session', async () => {
  const answer = await site.logIn({ key: keyOf('player') });
  expect([answer.status, await answer.text()]).toEqual([
    401,
    expect.stringContaining('no scope watch or admin'),
  ]);
});

test('a removed key ends its sessions', async () => {
  expect((await site.logIn({ key: keyOf('leaver') })).status).toBe(200);
  const keys = parseKeyFile(readFileSync(keysFile(), 'utf8'));
  writeFileSync(keysFile(), formatKeyFile(keys.filter(({ id }) => id !== 'leaver')));
  await vi.waitUntil(async () => (await site.send('/api/session')).status === 401, { timeout: 60_000 });
});

test('a rollout that comes later is there, once, and its row is the newest', async () => {
  await logIn();
  const before = await site.read(runPath, RunAnswer);
  await playAll(facesOf(other.url, world.fleet.apiKey, { environment: 'kept' }), 'later');
  const late = async () => (await site.read(runPath, RunAnswer)).columns.id;
  await vi.waitUntil(async () => (await late()).length === before.columns.id.length + 2, { timeout: 60_000 });
  expect((await late()).slice(-2)).toEqual(['later-0', 'later-1']);
});

test('other sites, other host names and proxies of the development key are refused', async () => {
  const { status } = await site.send('/api/session', { headers: { 'x-corral-console': '0' } });
  expect(status).toBe(400);
  const forwarded = { 'x-forwarded-for': '203.0.113.9' };
  const body = { key: world.fleet.apiKey };
  expect((await site.send('/session', { method: 'POST', body, headers: forwarded })).status).toBe(401);
  const crossSite = { 'x-corral-console': '0', 'sec-fetch-site': 'cross-site' };
  expect((await site.send('/session', { method: 'POST', body, headers: crossSite })).status).toBe(400);
});

test('every answer forbids scripts of text and other sites', async () => {
  const answer = await site.send('/healthz');
  expect(answer.headers.get('content-security-policy')).toContain("require-trusted-types-for 'script'");
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
});

test('guesses are bounded: after a few refusals of one address not even a good key is tried', async () => {
  for (let tries = 0; tries < 5; tries += 1) await site.logIn({ key: `corral_guess_${tries}` });
  expect((await site.logIn({ key: world.fleet.apiKey })).status).toBe(429);
});
