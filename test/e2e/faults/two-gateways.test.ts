import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ExtraGateway, startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { type Faces, facesOf, type RftCall } from '#test/support/faces.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '#test/support/fleet.ts';

let corral: FleetOfTest;
let extra: ExtraGateway;
let other: Faces;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: shellEnvironment } });
  extra = await startExtraGateway(corral.fleet, join(dirname(corral.fleet.stateDir), 'environments'));
  other = facesOf(extra.url, corral.fleet.apiKey);
});
afterAll(async () => {
  await extra.stop();
  await corral.stop();
});

/** Waits for a file that the test makes, so that the test decides when the command ends. */
const untilTold = 'echo ran >> log; while ! test -e go; do sleep 0.05; done; cat log';
const tell = (trace: string) => other.rft.call({ trace, call: 'go', command: 'touch go' });
const isRunning = async (rollout: string) => {
  const { body } = await other.native.get(`/v1/rollouts/${rollout}`);
  return (body as { readonly in_flight?: number }).in_flight === 1;
};

test('four posts of the same call at two gateways: one execution, four equal answers', async () => {
  const call: RftCall = { trace: 'four', call: 'c1', command: 'echo ran >> log; sleep 0.3; cat log' };
  const answers = await Promise.all([corral, other, corral, other].map(({ rft }) => rft.call(call)));
  expect(answers[0]).toMatchObject({ status: 200, body: { output: 'ran\n' } });
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
});

test('parallel first calls at two gateways: one sandbox for all of them', async () => {
  const calls = ['c1', 'c2', 'c3', 'c4'].map((call, place) =>
    (place % 2 === 0 ? corral : other).rft.call({ trace: 'first', call, command: `echo ${call} >> log` }),
  );
  for (const answer of await Promise.all(calls)) expect(answer.status).toBe(200);
  const all = await corral.rft.call({ trace: 'first', call: 'c5', command: 'sort log' });
  expect(all.body).toMatchObject({ output: 'c1\nc2\nc3\nc4\n' });
});

test('the same id with other arguments at the other gateway: refused as the caller’s, and nothing runs', async () => {
  await corral.rft.call({ trace: 'conflict', call: 'c1', command: 'echo one >> log' });
  const answer = await other.rft.call({ trace: 'conflict', call: 'c1', command: 'echo two >> log' });
  expect(answer).toMatchObject({ status: 500, body: { error: { code: 'call_conflict', blame: 'caller' } } });
  const log = await other.rft.call({ trace: 'conflict', call: 'c2', command: 'cat log' });
  expect(log.body).toMatchObject({ output: 'one\n' });
});

test('a gateway killed while a call runs: the repeat at the other attaches, the command ran once, the rollout is scored', async () => {
  const call: RftCall = { trace: 'dispatched', call: 'c1', command: untilTold };
  const broken = corral.rft.call(call).catch(() => 'connection lost');
  await expect.poll(() => isRunning('dispatched')).toBe(true);
  await corral.killPart('gateway');
  expect(await broken).toBe('connection lost');
  const repeat = other.rft.call(call);
  await tell('dispatched');
  expect(await repeat).toMatchObject({ status: 200, body: { output: 'ran\n' } });
  expect(await corral.rft.call(call)).toMatchObject({ status: 200, body: { output: 'ran\n' } });
  expect(await other.rft.grade({ trace: 'dispatched' })).toMatchObject({ status: 200, body: { score: 1 } });
});

test('a gateway killed before it heard the end: the command ends meanwhile, and the repeat reads what it said', async () => {
  const call: RftCall = { trace: 'unheard', call: 'c1', command: untilTold };
  const broken = corral.rft.call(call).catch(() => 'connection lost');
  await expect.poll(() => isRunning('unheard')).toBe(true);
  const killed = corral.killPart('gateway');
  await tell('unheard');
  await Promise.all([killed, broken]);
  expect(await other.rft.call(call)).toMatchObject({ status: 200, body: { output: 'ran\n' } });
});

test('a gateway killed after its answer was stored and sent: the other tells the same bytes, and runs nothing', async () => {
  const call: RftCall = { trace: 'stored', call: 'c1', command: 'echo ran >> log; cat log' };
  const first = await corral.rft.call(call);
  await corral.killPart('gateway');
  expect(await other.rft.call(call)).toEqual(first);
});

test('finish at one gateway while a call runs at the other: the call is cancelled, its caller told why, later ones refused', async () => {
  await corral.native.open('finished');
  const running = corral.native.shell('finished', 'c1', 'sleep 60');
  await expect.poll(() => isRunning('finished')).toBe(true);
  expect(await other.native.post('/v1/rollouts/finished/finish', {})).toMatchObject({ status: 200 });
  const closed = { status: 409, body: { error: { code: 'rollout_closed', blame: 'caller' } } };
  expect(await running).toMatchObject(closed);
  const { body } = await other.native.get('/v1/rollouts/finished');
  expect(body).toMatchObject({ calls: [{ call_id: 'c1', outcome: 'cancelled' }], taint: null });
  const late = await other.native.shell('finished', 'c2', 'true');
  expect(late).toMatchObject(closed);
  expect(late).toMatchObject({ body: { error: { admitted: 'no' } } });
});
