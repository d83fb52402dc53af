import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ExtraGateway, startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { productionTimings } from '#src/model/timings.ts';
import { dataIn, envelopesIn } from '#test/support/connect.ts';
import { e2bWire, gone, type OpenSandbox, shown } from '#test/support/e2b-wire.ts';
import { eventually } from '#test/support/eventually.ts';
import { expectFailure, toldLost } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { partPid } from '#test/support/parts-of-fleet.ts';
import { sendSignal } from '#test/support/send-signal.ts';

const environments = {
  own: `
name: own
sandbox: { image: host, disk: 64Mi, memory: 128Mi, processes: 64 }
grader: { kind: none }
pool: { min_ready: 2, max: 12 }
`,
};

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments, keepRecords: true });
});
afterAll(() => corral.stop());

const first = e2bWire(
  () => corral.fleet.gatewayUrl,
  () => corral.fleet.apiKey,
);
const wireOf = ({ url }: ExtraGateway) =>
  e2bWire(
    () => url,
    () => corral.fleet.apiKey,
  );

const viewOf = async ({ sandboxID }: OpenSandbox) =>
  (await corral.native.get(`/v1/rollouts/${sandboxID}`)).body;
const lostFor = (reason: string) => ({
  verdict: { kind: 'discard', code: 'sandbox_lost', cause: 'request_lost' },
  taint: { code: 'sandbox_lost', evidence: { reason } },
});
const scorable = { verdict: { kind: 'scorable' } };

const isRunning = (sandbox: OpenSandbox) => eventually(() => viewOf(sandbox), { in_flight: 1 });

const pidOf = (part: 'gateway' | 'redis') => partPid(corral.fleet.stateDir, part);

async function expectGone(sandbox: OpenSandbox): Promise<void> {
  // First a request that is held until the sandbox is given up: a command is held in a stream, whose status is sent before.
  const answer = await first.ask('/files?path=a', { headers: shown(sandbox) });
  expect([answer.status, await answer.json()]).toMatchObject([502, gone]);
  expect(await first.run(sandbox, 'true')).toMatchObject({ status: 502, body: gone });
}

test('the only gateway dies: what E2B’s clients had opened is gone, also where nothing was asked meanwhile', async () => {
  const [idle, busy] = [await first.open(), await first.open()];
  await corral.native.open('native', 'own');
  const running = first.run(busy, 'sleep 60');
  running.catch(() => undefined);
  await isRunning(busy);
  await corral.killPart('gateway');
  await expect(running).rejects.toThrow();
  await expectGone(idle);
  await expectGone(busy);
  expect(await viewOf(idle)).toMatchObject(lostFor('no_gateway_listened'));
  const told = await corral.native.post(`/v1/rollouts/${idle.sandboxID}/finish`, { score: 0 });
  expectFailure(told, { ...toldLost, admitted: 'no' });
  const exec = await corral.native.post('/v1/rollouts/native/exec', { call_id: 'c1', argv: ['echo', 'hi'] });
  expect(exec.body).toMatchObject({ stdout: 'hi\n', exit_code: 0 });
  const after = await first.open();
  expect(await first.run(after, 'echo here')).toMatchObject({ stdout: 'here\n', exitCode: 0 });
});

/** One more gateway of the fleet, what clients send there, and what it says of itself. */
async function startSecond() {
  const said = new EventEmitter();
  const second = await startExtraGateway(
    corral.fleet,
    corral.environmentsDir,
    ({ kind }) => void said.emit(kind),
  );
  return { second, other: wireOf(second), said };
}

test.concurrent('of two gateways one dies: only the sandbox whose request it had is gone, and its leaving in order costs nothing', async () => {
  const { second, other, said } = await startSecond();
  const [inHand, quiet, elsewhere] = [await other.open(), await other.open(), await first.open()];
  const running = other.run(inHand, 'sleep 60');
  running.catch(() => undefined);
  await isRunning(inHand);
  const isBack = once(said, 'ready');
  sendSignal(second.pid() ?? 0, 'SIGKILL');
  await expect(running).rejects.toThrow();
  // Its client may be faster than the end of its gateway's connection to Redis.
  await eventually(() => first.ask('/files?path=a', { headers: shown(inHand) }), { status: 502 });
  await expectGone(inHand);
  await isBack;
  expect(await viewOf(inHand)).toMatchObject(lostFor('gateway_died'));
  await second.stop();
  for (const kept of [quiet, elsewhere]) {
    expect(await first.run(kept, 'echo kept')).toMatchObject({ stdout: 'kept\n', exitCode: 0 });
    expect(await viewOf(kept)).toMatchObject(scorable);
  }
});

test.concurrent('a sandbox that is killed as soon as its gateway has died is discarded before it ends', async () => {
  const { second, other, said } = await startSecond();
  const sandbox = await other.open();
  const running = other.run(sandbox, 'sleep 60');
  running.catch(() => undefined);
  await isRunning(sandbox);
  const isBack = once(said, 'ready');
  sendSignal(second.pid() ?? 0, 'SIGKILL');
  await expect(running).rejects.toThrow();
  expect(await first.kill(sandbox)).toBe(204);
  expect(await viewOf(sandbox)).toMatchObject({ state: 'closed', ...lostFor('gateway_died') });
  await isBack;
  await second.stop();
});

test('a sandbox that is killed as soon as its only gateway is back is discarded before it ends', async () => {
  const sandbox = await first.open();
  await corral.killPart('gateway');
  expect(await first.kill(sandbox)).toBe(204);
  expect(await viewOf(sandbox)).toMatchObject({ state: 'closed', ...lostFor('no_gateway_listened') });
});

test('a gateway that stands still under a command for longer than it takes to be gone loses nothing', async () => {
  const { second, other } = await startSecond();
  const [sandbox, clock] = [await first.open(), await other.open()];
  const answer = await first.start(sandbox, 'until [ -e done ]; do sleep 0.1; done; echo over');
  await isRunning(sandbox);
  sendSignal(pidOf('gateway'), 'SIGSTOP');
  expect(await other.run(clock, `sleep ${productionTimings.gatewayReturnMs / 1_000 + 3}`)).toMatchObject({
    exitCode: 0,
  });
  sendSignal(pidOf('gateway'), 'SIGCONT');
  const written = await other.ask('/files?path=done', { method: 'POST', body: 'x', headers: shown(sandbox) });
  expect(written.status).toBe(200);
  expect(dataIn(envelopesIn(Buffer.from(await answer.arrayBuffer())))).toMatchObject({
    stdout: 'over\n',
    exitCode: 0,
  });
  expect(await viewOf(sandbox)).toMatchObject(scorable);
  await second.stop();
});

test('a Redis that is away: who waits is answered, and the sandbox of a client that gave up meanwhile is gone', async () => {
  const [patient, impatient] = [await first.open(), await first.open()];
  await first.ask('/files?path=a', { method: 'POST', body: 'x', headers: shown(patient) });
  sendSignal(pidOf('redis'), 'SIGSTOP');
  const waiting = first.run(patient, 'echo waited');
  const reading = first.ask('/files?path=a', { headers: shown(patient) });
  // As a client of E2B does when the timeout of its command is over.
  const deadline = AbortSignal.timeout(3_000);
  const given = first.start(impatient, 'echo late', { 'connect-timeout-ms': '3000' }, deadline);
  await expect(given.then((answer) => answer.arrayBuffer())).rejects.toThrow();
  sendSignal(pidOf('redis'), 'SIGCONT');
  expect(await waiting).toMatchObject({ stdout: 'waited\n', exitCode: 0 });
  expect(await (await reading).text()).toBe('x');
  await expectGone(impatient);
  expect(await viewOf(impatient)).toMatchObject(lostFor('client_left'));
  expect(await viewOf(patient)).toMatchObject(scorable);
});
