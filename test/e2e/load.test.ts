import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '../support/fleet.ts';

let corral: FleetOfTest;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-load-'));
  corral = await startFleetOfTest({ environments: { shell: shellEnvironment } });
});
afterAll(async () => {
  await corral.stop();
  await rm(folder, { recursive: true, force: true });
});

const program = join(import.meta.dirname, '../../loadtest/load.ts');

/** Eight rollouts of a few calls, which sleep for milliseconds. */
async function load(url: string, ...more: readonly string[]) {
  return begin(url, more).ended;
}

function begin(url: string, more: readonly string[]) {
  const json = join(folder, `${crypto.randomUUID()}.json`);
  const shape = ['--rollouts', '8', '--groups', '4', '--calls', '4', '--speed', '500'];
  const files = ['--json', json, '--out', folder];
  const target = ['--url', url, '--key', corral.fleet.apiKey];
  const args = [program, ...target, ...shape, ...files, ...more];
  const { promise, resolve } = Promise.withResolvers<{ exitCode: unknown; printed: string }>();
  const child = execFile(process.execPath, args, (error, printed) =>
    resolve({ exitCode: error === null ? 0 : error.code, printed }),
  );
  const ended = promise.then(async ({ exitCode, printed }) => {
    const text = await readFile(json, 'utf8').catch(() => 'null');
    return { exitCode, printed, found: JSON.parse(text) as unknown };
  });
  return { child, ended };
}

type Forward = (body?: string) => Promise<Response>;
/** Answers a request in the gateway's place. */
type Fault = (forward: Forward, body: string, response: ServerResponse) => Promise<void>;

const proxies: Server[] = [];
afterEach(() => {
  for (const proxy of proxies.splice(0)) {
    proxy.closeAllConnections();
    proxy.close();
  }
});

/** Stands before the gateway and does this to what it is asked at such addresses; the trial rollouts pass. */
async function standBefore(addresses: RegExp, fault: Fault): Promise<string> {
  const proxy = createServer((request, response) => {
    void bodyOf(request).then(async (body) => {
      const { method = 'GET', url = '/', headers } = request;
      const forward: Forward = (sent = body) =>
        fetch(`${corral.fleet.gatewayUrl}${url}`, {
          method,
          headers: {
            authorization: headers.authorization ?? '',
            'x-corral-run': String(headers['x-corral-run']),
            'content-type': 'application/json',
          },
          ...(method === 'POST' ? { body: sent } : {}),
        });
      const isHurt = addresses.test(url) && !body.includes('"trial_');
      await (isHurt ? fault(forward, body, response) : pass(await forward(), response));
    });
  });
  proxies.push(proxy);
  await new Promise<void>((listening) => {
    proxy.listen(0, '127.0.0.1', listening);
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks = (await request.toArray()) as Buffer[];
  return Buffer.concat(chunks).toString('utf8');
}

async function pass(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status).end(await answer.text());
}

const clean = {
  clean: true,
  rollouts: 8,
  not_scored: 0,
  zeros: {
    scored_despite_failure: 0,
    model_failures_discarded: 0,
    ran_twice: 0,
    infrastructure_text_shown: 0,
  },
};

test.each(['rft', 'native'])(
  'a fleet that is well, on the %s face: all are scored, the zeros hold, and every start is told',
  async (face) => {
    const more = ['--face', face, '--new-connections', '0.5', '--at-once', '6', '--all-scored'];
    const { exitCode, found, printed } = await load(corral.fleet.gatewayUrl, ...more);
    expect(printed).toContain('All four zeros hold.');
    expect(found).toMatchObject({
      ...clean,
      answers_other_than_200: 0,
      not_checked: [],
      own_delay_ms: expect.any(Number),
    });
    const { first_answer: first } = found as { first_answer: Record<string, { count: number }> };
    expect(first).toMatchObject({ all: { count: 8 } });
    expect((first['warm']?.count ?? 0) + (first['cold']?.count ?? 0)).toBe(8);
    expect(exitCode).toBe(0);
    expect(await readFile(join(folder, 'load.html'), 'utf8')).toContain('<svg');
    const { body } = await corral.native.get('/v1/runs');
    const [run] = (body as { runs: readonly string[] }).runs;
    expect(await corral.native.get(`/v1/runs/${run}`)).toMatchObject({ body: { state: 'closed', open: 0 } });
  },
);

test('connections that break when a call has been carried out: the zeros hold, and --all-scored does not', async () => {
  const broken = new Set<string>();
  const url = await standBefore(/\/tools\//, async (forward, body, response) => {
    const answer = await forward();
    if (broken.has(body)) return pass(answer, response);
    broken.add(body);
    response.destroy();
  });
  const { exitCode, found, printed } = await load(url, '--all-scored');
  expect(found).toMatchObject({
    ...clean,
    answers: { 'lost UND_ERR_SOCKET': broken.size },
    answers_other_than_200: broken.size,
  });
  expect(broken.size).toBeGreaterThan(8);
  expect(printed).toContain('NOT ALL: the four zeros hold');
  expect(exitCode).toBe(1);
});

test('a call that is carried out twice is found, and the load test ends with 1', async () => {
  const url = await standBefore(/\/tools\//, async (forward, body, response) => {
    await forward(body.replace('"call_id":"call_', '"call_id":"again_'));
    await pass(await forward(), response);
  });
  const { exitCode, found, printed } = await load(url);
  expect(found).toMatchObject({ clean: false, zeros: { ...clean.zeros, ran_twice: expect.any(Number) } });
  expect(printed).toMatch(/ran_twice trace_\S+: call_/);
  expect(exitCode).toBe(1);
});

test('words of a proxy in the place of an answer are found, and the load test ends with 1', async () => {
  const url = await standBefore(/\/tools\//, async (_forward, _body, response) => {
    response.writeHead(413).end('<html>too large</html>');
  });
  const { exitCode, found, printed } = await load(url);
  expect(found).toMatchObject({ clean: false, zeros: { ran_twice: 0 } });
  expect(printed).toMatch(/shown_infrastructure_text trace_\S+: call_\w+: <html>too large/);
  expect(exitCode).toBe(1);
});

test('a zero in the place of a score is found, and the load test ends with 1', async () => {
  const url = await standBefore(/\/grade$/, async (_forward, _body, response) => {
    response.writeHead(200).end('{"score":0}');
  });
  const { exitCode, printed } = await load(url);
  expect(printed).toContain('scored 0, and the same answer alone was scored 1');
  expect(exitCode).toBe(1);
});

test('a fleet that refuses everything after the trial has shown nothing, and is told by blame', async () => {
  const url = await standBefore(/\/tools\//, async (_forward, _body, response) => {
    const error = { code: 'shutting_down', blame: 'infrastructure', message: 'not now' };
    response.writeHead(503).end(JSON.stringify({ error }));
  });
  const { exitCode, found, printed } = await load(url);
  expect(found).toMatchObject({
    scored: 0,
    discards: Array.from({ length: 8 }, () => ({ blame: 'infrastructure' })),
  });
  expect(printed).toContain('NOTHING SHOWN');
  expect(exitCode).toBe(1);
});

/** Eight rollouts at their first thought, which takes a minute. */
async function beginThoughtful(run: string) {
  const begun = begin(corral.fleet.gatewayUrl, [
    '--run',
    run,
    '--think',
    '60',
    '--speed',
    '1',
    '--all-scored',
  ]);
  const viewed = async () => (await corral.native.get(`/v1/runs/${run}`)).body;
  await expect.poll(viewed, { timeout: 20_000 }).toMatchObject({ rollouts: 10 });
  return { ...begun, viewed };
}

test('ended early: what is under way is graded at once, and it is judged as if its time were up', async () => {
  const { child, ended, viewed } = await beginThoughtful('ended');
  child.kill('SIGINT');
  const { exitCode, found, printed } = await ended;
  expect(printed).toContain('what is under way is graded');
  expect(found).toMatchObject({ scored: 8, given_up: 0, discards: [], findings: [] });
  expect(exitCode).toBe(0);
  expect(await viewed()).toMatchObject({ state: 'closed', open: 0 });
});

test('interrupted: nothing more is sent, the run is closed, what was cut off is nobody’s failure, and it ends with 130', async () => {
  const { child, ended, viewed } = await beginThoughtful('interrupted');
  child.kill('SIGTERM');
  const { exitCode, found } = await ended;
  expect(exitCode).toBe(130);
  expect(found).toMatchObject({ scored: 0, given_up: 8, discards: [], findings: [] });
  expect(await viewed()).toMatchObject({ state: 'closed', open: 0 });
  const again = await load(corral.fleet.gatewayUrl, '--run', 'interrupted');
  expect(again.printed).toMatch(/rollout_closed.*fault: yours.*--run/);
  expect(again.exitCode).toBe(2);
});

test.each([
  ['a wrong key', ['--key', 'wrong'], /not known here.*fault: yours.*--key/],
  ['nobody there', ['--url', 'http://127.0.0.1:1'], /nothing at \S+ answers.*fault: yours.*--url/],
  [
    'an unknown environment',
    ['--environment', 'nothing'],
    /unknown_environment.*fault: yours.*--environment/,
  ],
  ['no tool that leaves evidence', ['--tool', 'search'], /has no tool search.*it has shell/],
])('%s: one line and 2, before any load', async (_name, more, line) => {
  const { exitCode, found, printed } = await load(corral.fleet.gatewayUrl, ...more);
  expect(printed.trim().split('\n')).toEqual([expect.stringMatching(line)]);
  expect(found).toBeNull();
  expect(exitCode).toBe(2);
});
