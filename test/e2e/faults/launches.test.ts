import { chmodSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sandboxdOf } from '#loadtest/fleet/sandbox-of.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { sendSignal } from '#test/support/send-signal.ts';

/** Nothing is warm, and a start takes long enough to be caught in the middle. */
const environment = `
name: shell
sandbox: { image: host, disk: 64Mi, prepare: [[sleep, "2"]], start_timeout: 8s }
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 4 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
});
afterAll(() => corral.stop());

/** The sandbox that is being started, when it has begun to prepare itself. */
async function starting() {
  await expect.poll(sandboxes).toBe(1);
  const [sandbox] = await corral.fleet.sandboxes();
  if (sandbox === undefined) throw new Error('it ended while it started');
  await expect.poll(() => sandboxdOf(sandbox)).not.toBeNull();
  return sandbox;
}

/** The call is served by another sandbox and once, and the grade counts it; nobody heard of the first one. */
async function expectServedElsewhere(trace: string, held: ReturnType<typeof call>, sandbox: string) {
  expect(await held).toMatchObject({ status: 200, body: { output: 'ran\n' } });
  expect((await corral.fleet.sandboxes()).map((each) => each.sandbox)).not.toContain(sandbox);
  const { body } = await corral.native.get(`/v1/rollouts/${trace}`);
  expect(body).toMatchObject({ taint: null, calls: [{ admitted: 'yes' }] });
  expect(await corral.rft.grade({ trace })).toMatchObject({ status: 200, body: { score: 1 } });
  await expect.poll(sandboxes).toBe(0);
}

const sandboxes = async () => (await corral.fleet.sandboxes()).length;
const call = (trace: string) =>
  corral.rft.call({ trace, call: 'c1', command: 'echo ran >> log; cat log', environment: 'shell' });

test('the controller killed in the middle of a launch: the rollout that waits gets a sandbox and runs once', async () => {
  const held = call('controller');
  await expect.poll(sandboxes).toBeGreaterThan(0);
  await corral.killPart('controller');
  expect(await held).toMatchObject({ status: 200, body: { output: 'ran\n' } });
  expect(await corral.rft.grade({ trace: 'controller' })).toMatchObject({ status: 200, body: { score: 1 } });
  await expect.poll(sandboxes).toBe(0);
});

test('a sandbox killed while it starts: another is started, the caller notices nothing', async () => {
  const held = call('starting');
  await expect.poll(sandboxes).toBeGreaterThan(0);
  for (const { pid } of await corral.fleet.sandboxes()) process.kill(pid, 'SIGKILL');
  expect(await held).toMatchObject({ status: 200, body: { output: 'ran\n' } });
  expect(await corral.rft.grade({ trace: 'starting' })).toMatchObject({ status: 200, body: { score: 1 } });
  await expect.poll(sandboxes).toBe(0);
});

test('a sandbox that hangs while it starts: given up at its start timeout, and another serves the call', async () => {
  const held = call('hangs');
  const { sandbox, pid } = await starting();
  sendSignal(await sandboxdOf({ pid }), 'SIGSTOP');
  await expectServedElsewhere('hangs', held, sandbox);
});

test('a sandbox that comes up broken, so that its no-op fails: nobody gets it, and another serves the call', async () => {
  const held = call('broken');
  const { sandbox, pid } = await starting();
  // Whoever has a command here may not write where it is to work.
  chmodSync(`/proc/${pid}/root/workspace`, 0o500);
  await expectServedElsewhere('broken', held, sandbox);
});
