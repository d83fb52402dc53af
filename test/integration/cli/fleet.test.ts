import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Agent, request } from 'undici';
import { expect, test, type TestContext } from 'vitest';
import { type FleetEvent, startFleet } from '#cli/fleet/start-fleet.ts';
import type { UpSummary } from '#cli/up/summary.ts';
import { eventually } from '#test/support/eventually.ts';
import { fleetLeftBy } from '#test/support/fleet-left-behind.ts';
import { partPid } from '#test/support/parts-of-fleet.ts';

const repository = join(import.meta.dirname, '../../..');
const payloadDir = join(repository, 'out/payload');

/** Small, so that the test is about the fleet and not about warming up. */
const environment = `
name: shell
sandbox: { image: host }
tools: { shell: { builtin: shell } }
grader: { kind: text, answer: output_text, reference: item.answer }
pool: { min_ready: 1, max: 4 }
`;

/** Folders of one test, which need not wait for another test's fleet. */
type House = {
  readonly stateDir: string;
  readonly environmentsDir: string;
  /** Runs when the test has ended, before the folders are removed. */
  onEnd(stop: () => unknown): void;
};

function makeHouse({ onTestFinished }: TestContext): House {
  const root = mkdtempSync(join(tmpdir(), 'corral-up-'));
  const environmentsDir = join(root, 'environments');
  mkdirSync(environmentsDir);
  writeFileSync(join(environmentsDir, 'shell.yaml'), environment);
  const stops: (() => unknown)[] = [];
  onTestFinished(async () => {
    await Promise.all(stops.map((stop) => stop()));
    rmSync(root, { recursive: true, force: true });
  });
  return { stateDir: join(root, 'state'), environmentsDir, onEnd: (stop) => void stops.push(stop) };
}

async function callShell(url: string, key: string, trace: string, command: string, ca?: string) {
  const body = {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'c1',
    name: 'shell',
    arguments: { command },
    trace_id: trace,
  };
  const dispatcher = new Agent({ connect: { ca } });
  const response = await request(`${url}/rft/shell/tools/shell`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, item: { id: '1', answer: 'x' } }),
    dispatcher,
  });
  const answer = (await response.body.json()) as { output?: string };
  await dispatcher.close();
  return { status: response.statusCode, body: answer };
}

/** As the console's page does with the code of its address. */
const logIn = async (site: string, code: string): Promise<number> =>
  (
    await fetch(`${new URL(site).origin}/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-corral-console': '1' },
      body: JSON.stringify({ code }),
    })
  ).status;

/** Waits for `up --json` to print its summary; its remarks are kept for a failing test's message. */
type Up = {
  readonly process: ChildProcess;
  readonly summary: UpSummary;
  readonly remarks: readonly string[];
};

async function startUp(house: House, ...more: readonly string[]): Promise<Up> {
  const { stateDir, environmentsDir } = house;
  const args = ['cli/main.ts', 'up', '--json', '--port', '0', '--state', stateDir, ...more];
  const child = spawn(process.execPath, [...args, '--environments', environmentsDir], { cwd: repository });
  house.onEnd(() => child.kill('SIGKILL'));
  const remarks: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => remarks.push(line));
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error(remarks.join('\n')))),
  ])) as [string];
  return { process: child, summary: JSON.parse(line) as UpSummary, remarks };
}

test.concurrent('a fleet answers a tool call, survives the death of its gateway, and leaves nothing when it stops', async (context) => {
  const house = makeHouse(context);
  const { stateDir, environmentsDir } = house;
  const events: FleetEvent[] = [];
  const readyAgain = Promise.withResolvers<void>();
  const fleet = await startFleet({
    environmentsDir,
    stateDir,
    payloadDir,
    onEvent: (event) => {
      events.push(event);
      if (events.filter((one) => one.kind === 'ready' && one.part === 'gateway').length === 2)
        readyAgain.resolve();
    },
  });
  house.onEnd(() => fleet.stop());
  expect(await callShell(fleet.gatewayUrl, fleet.apiKey, 't1', 'echo hello')).toMatchObject({
    status: 200,
    body: { output: 'hello\n' },
  });
  // The controller labels a sandbox within seconds of its adoption.
  const owners = async () => ({
    rollouts: (await fleet.sandboxes()).map(({ owner }) => owner?.rollout),
  });
  await eventually(owners, { rollouts: expect.arrayContaining(['t1']) });

  process.kill(partPid(stateDir, 'gateway'), 'SIGKILL');
  await readyAgain.promise;
  expect(await callShell(fleet.gatewayUrl, fleet.apiKey, 't1', 'echo hello')).toMatchObject({
    status: 200,
    body: { output: 'hello\n' },
  });

  await fleet.stop();
  expect(await fleetLeftBy(stateDir)).toEqual([]);
  expect(readdirSync(stateDir)).not.toContain('up.lock');
});

test.concurrent('a fleet for other machines refuses to start without a key, and takes that key over TLS, not the development key', async (context) => {
  const house = makeHouse(context);
  const { stateDir } = house;
  await expect(startUp(house, '--host', '0.0.0.0')).rejects.toThrow('only keys of a key file are valid');
  const { summary } = await startUp(house, '--host', '0.0.0.0', '--first-key');
  const { beyond, apiKey } = summary;
  expect(beyond?.reach).toMatch(/^(every machine|this machine only)/);
  const certificate = readFileSync(join(stateDir, 'tls/certificate.pem'), 'utf8');
  expect(new X509Certificate(certificate).fingerprint256).toBe(beyond?.fingerprint);
  const url = beyond?.url.replace('0.0.0.0', 'localhost') ?? '';
  expect(await callShell(url, beyond?.firstKey ?? '', 't1', 'echo hello', certificate)).toMatchObject({
    status: 200,
    body: { output: 'hello\n' },
  });
  expect(await callShell(url, apiKey, 't2', 'echo hello', certificate)).toMatchObject({ status: 503 });
  await expect(callShell(url, apiKey, 't2', 'echo hello')).rejects.toThrow('self-signed certificate');
  expect(await callShell(summary.gatewayUrl, apiKey, 't2', 'echo hello')).toMatchObject({ status: 200 });
});

test.concurrent('a second up on the same folder is refused, and Ctrl-C ends the first within seconds', async (context) => {
  const house = makeHouse(context);
  const { stateDir } = house;
  const { process: first, summary } = await startUp(house);
  const site = summary.consoleUrl ?? '';
  expect((await fetch(`${new URL(site).origin}/healthz`)).status).toBe(200);
  const code = new URL(site).hash.slice('#code='.length);
  expect(await logIn(site, code)).toBe(200);
  expect(await logIn(site, code)).toBe(401);
  await expect(startUp(house)).rejects.toThrow(`a fleet already runs here, process ${first.pid}`);
  const startedMs = performance.now();
  first.kill('SIGINT');
  expect(await once(first, 'exit')).toEqual([0, null]);
  expect(performance.now() - startedMs).toBeLessThan(10_000);
  expect(await fleetLeftBy(stateDir)).toEqual([]);
});

test.concurrent('after kill -9 of up itself its parts end, and the next up finds a clean house', async (context) => {
  const house = makeHouse(context);
  const { stateDir } = house;
  const { process: first, summary } = await startUp(house);
  await callShell(summary.gatewayUrl, summary.apiKey, 't1', 'sleep 300 & echo started');
  const exited = once(first, 'exit');
  first.kill('SIGKILL');
  await exited;
  const { process: second, summary: again } = await startUp(house);
  expect(await callShell(again.gatewayUrl, again.apiKey, 't2', 'echo hello')).toMatchObject({ status: 200 });
  second.kill('SIGTERM');
  await once(second, 'exit');
  expect(await fleetLeftBy(stateDir)).toEqual([]);
});
