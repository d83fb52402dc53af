import { Agent, request } from 'node:http';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ExtraGateway, startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '#test/support/fleet.ts';
import { sendSignal } from '#test/support/send-signal.ts';

const [drainDelayMs, graceMs] = [5_000, 2_000];
const rollouts = ['a', 'b', 'c', 'd', 'e'];
const callsEach = 20;
/** Commands end when the test says so: the gateway must hold all of them, and cut all of them off. */
const environment = shellEnvironment.replace('timeout: 30s', 'timeout: 120s');
/** Holds the lock until the test has its word read; then all commands that wait for it go on at once, and later ones at once. */
const holdLock =
  'mkfifo go; (flock lock sh -c "read word < go") > /dev/null 2>&1 & while flock -n lock true; do sleep 0.05; done';
const waits = 'flock -s lock echo done';

let corral: FleetOfTest;
let leaving: ExtraGateway;
const kept = new Agent({ keepAlive: true });
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
  const folder = join(dirname(corral.fleet.stateDir), 'environments');
  leaving = await startExtraGateway(corral.fleet, folder, undefined, {
    CORRAL_DRAIN_DELAY_MS: String(drainDelayMs),
    CORRAL_SHUTDOWN_GRACE_MS: String(graceMs),
  });
});
afterAll(async () => {
  kept.destroy();
  await leaving.stop();
  await corral.stop();
});

type Told = { readonly status: number; readonly connection: string | undefined; readonly text: string };
type Call = { readonly trace: string; readonly call: string; readonly command: string };

/** Plain HTTP that tries nothing again; rejects with whatever breaks the connection. */
function send(url: string, agent: Agent | false, { trace, call, command }: Call): Promise<Told> {
  const body = {
    type: 'function_call',
    id: `fc_${call}`,
    call_id: call,
    name: 'shell',
    arguments: JSON.stringify({ command }),
    trace_id: trace,
  };
  const headers = { authorization: `Bearer ${corral.fleet.apiKey}`, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/rft/shell/tools/shell`, { method: 'POST', headers, agent }, (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, connection: answer.headers.connection, text }),
      );
    });
    asked.on('error', reject);
    asked.end(JSON.stringify(body));
  });
}

const viewOf = async (trace: string) => (await corral.native.get(`/v1/rollouts/${trace}`)).body;

async function heldRequests(): Promise<number> {
  const metrics = await fetch(`${corral.fleet.gatewayUrl}/metrics`).then((answer) => answer.text());
  return Number(/^corral_gateway_held_requests (\d+)$/m.exec(metrics)?.[1]);
}

/** One short call after another, until the gateway says that it is stopping. */
async function lane(agent: Agent | false, trace: string, name: string): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (let count = 0; told.at(-1)?.status !== 503; count += 1) {
    told.push(await send(leaving.url, agent, { trace, call: `${name}-${count}`, command: 'echo hi' }));
  }
  return told;
}

const say = async (trace: string, call: string, command: string): Promise<void> => {
  expect(await corral.rft.call({ trace, call, command })).toMatchObject({ status: 200 });
};

test('SIGTERM under a hundred held calls and new ones: nobody sees a reset, and repeats elsewhere run nothing twice', async () => {
  await Promise.all(rollouts.map((trace) => say(trace, 'prepare', holdLock)));
  const calls = rollouts.flatMap((trace) =>
    Array.from({ length: callsEach }, (_, at) => ({
      trace,
      call: `held-${at}`,
      command: `echo held-${at} >> ran; ${waits}`,
    })),
  );
  const held = Promise.all(calls.map((call, at) => send(leaving.url, at % 2 === 0 && kept, call)));
  for (const trace of rollouts) {
    await expect.poll(() => viewOf(trace)).toMatchObject({ in_flight: callsEach });
  }
  sendSignal(leaving.pid(), 'SIGTERM');
  const lanes = await Promise.all([lane(kept, 'f', 'kept'), lane(false, 'f', 'new')]);
  for (const told of lanes) {
    expect(told.slice(0, -1).every(({ status }) => status === 200)).toBe(true);
    expect(told.length).toBeGreaterThan(1);
    expect(told.at(-1)).toMatchObject({
      connection: 'close',
      text: expect.stringContaining('shutting_down'),
    });
  }
  for (const { status, text } of await held) {
    expect(status).toBe(503);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'shutting_down', admitted: 'unknown' } });
  }
  const again = Promise.all(calls.map((call) => send(corral.fleet.gatewayUrl, false, call)));
  // Fleet state keeps 16 answers of a rollout: a repeat that comes after so many others have ended may be too late.
  await expect.poll(heldRequests).toBeGreaterThanOrEqual(calls.length);
  await Promise.all(rollouts.map((trace) => say(trace, 'go', 'echo word > go')));
  const others = (await again).filter(({ status, text }) => status !== 200 || !text.includes('done'));
  expect(others).toEqual([]);
  for (const trace of rollouts) {
    const ran = await corral.rft.call({ trace, call: 'count', command: 'wc -l < ran; sort -u ran | wc -l' });
    expect(ran).toMatchObject({ status: 200, body: { output: `${callsEach}\n${callsEach}\n` } });
  }
});

test('a second SIGTERM while it is leaving: whom it holds is told at once, also then with 503', async () => {
  await expect.poll(() => isReady(), { timeout: 20_000 }).toBe(true);
  const held = send(leaving.url, false, { trace: 'g', call: 'c1', command: 'sleep 60' });
  await expect.poll(() => viewOf('g')).toMatchObject({ in_flight: 1 });
  const pid = leaving.pid() ?? 0;
  process.kill(pid, 'SIGTERM');
  await expect.poll(() => isReady()).toBe(false);
  const secondAtMs = performance.now();
  process.kill(pid, 'SIGTERM');
  expect(await held).toMatchObject({ status: 503, text: expect.stringContaining('shutting_down') });
  expect(performance.now() - secondAtMs).toBeLessThan(drainDelayMs);
});

const isReady = () =>
  fetch(`${leaving.url}/readyz`, { headers: { connection: 'close' } }).then(
    ({ ok }) => ok,
    () => false,
  );
