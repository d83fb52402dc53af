import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ExtraGateway, startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { expectFailure, type Faces, facesOf, toldNothingRan } from '#test/support/faces.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '#test/support/fleet.ts';
import { sendSignal } from '#test/support/send-signal.ts';

/** A gateway that holds two requests at once, lets a tenant keep rows of 3 MB, and finishes what it holds when it is stopped. */
const settings = {
  CORRAL_MAX_HELD_REQUESTS: '2',
  CORRAL_MAX_TENANT_ROW_BYTES: '3000000',
  CORRAL_SHUTDOWN_GRACE_MS: '30000',
};

let corral: FleetOfTest;
let small: ExtraGateway;
let faces: Faces;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: shellEnvironment } });
  const folder = join(dirname(corral.fleet.stateDir), 'environments');
  small = await startExtraGateway(corral.fleet, folder, undefined, settings);
  faces = facesOf(small.url, corral.fleet.apiKey);
});
afterAll(async () => {
  await small.stop();
  await corral.stop();
});

/** A row of nearly 1 MB. */
const item = (id: string) => ({ id, answer: '42', text: 'x'.repeat(950_000) });

/** A call at the small gateway that ends when `tell` is called, at the other one. */
async function hold(trace: string) {
  const call = { trace, call: 'c1', command: 'while ! test -e go; do sleep 0.05; done; echo done' };
  const held = faces.rft.call(call);
  await expect
    .poll(async () => (await corral.native.get(`/v1/rollouts/${trace}`)).body)
    .toMatchObject({ in_flight: 1 });
  return { held, tell: () => corral.rft.call({ trace, call: 'go', command: 'touch go' }) };
}

test('rows that fill their tenant’s share: 503 on both faces, the caller’s own doing, until one of its rollouts has ended', async () => {
  for (const name of ['a', 'b', 'c']) {
    expect(await faces.native.open(name, 'shell', item(name))).toMatchObject({ status: 201 });
  }
  const full = { ...toldNothingRan, code: 'rows_full', blame: 'caller' } as const;
  expectFailure(await faces.native.open('d', 'shell', item('d')), full);
  expectFailure(await faces.rft.grade({ trace: 'd', item: item('d') }), { ...full, rollout_id: 'd' });
  await faces.native.post('/v1/rollouts/a/finish', {});
  expect(await faces.rft.grade({ trace: 'd', item: item('d') })).toMatchObject({ body: { score: 1 } });
  for (const name of ['b', 'c']) await faces.native.post(`/v1/rollouts/${name}/finish`, {});
});

test('a gateway that holds as much as it may: 503 on both faces, and what it holds is answered', async () => {
  const [one, other] = [await hold('one'), await hold('other')];
  const told = await faces.rft.call({ trace: 'third', call: 'c1', command: 'echo hi' });
  expectFailure(told, { ...toldNothingRan, code: 'gateway_overloaded' });
  expectFailure(await faces.native.open('third'), { ...toldNothingRan, code: 'gateway_overloaded' });
  await Promise.all([one.tell(), other.tell()]);
  expect(await Promise.all([one.held, other.held])).toMatchObject([{ status: 200 }, { status: 200 }]);
});

test('a gateway that was told to stop: 503 for what is new, and what it holds is answered', async () => {
  const last = await hold('last');
  sendSignal(small.pid(), 'SIGTERM');
  await expect.poll(async () => (await faces.native.get('/readyz')).status).toBe(503);
  const told = await faces.rft.call({ trace: 'late', call: 'c1', command: 'echo hi' });
  expectFailure(told, { ...toldNothingRan, code: 'shutting_down' });
  expectFailure(await faces.native.open('late'), { ...toldNothingRan, code: 'shutting_down' });
  await last.tell();
  expect(await last.held).toMatchObject({ status: 200, body: { output: 'done\n' } });
});
