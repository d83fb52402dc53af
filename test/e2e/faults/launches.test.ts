import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFleetOfTest } from '../../support/fleet.ts';
import type { FleetOfTest } from '../../support/fleet.ts';

/** Nothing is warm, and a start takes long enough to be caught in the middle. */
const environment = `
name: shell
sandbox: { image: host, disk: 64Mi, prepare: [[sleep, "2"]] }
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 4 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
});
afterAll(() => corral.stop());

const sandboxes = async () => (await corral.fleet.sandboxes()).length;
const call = (trace: string) =>
  corral.rft.call({ trace, call: 'c1', command: 'echo ran >> log; cat log', environment: 'shell' });

test('the controller killed in the middle of a launch: the rollout that waits gets a sandbox and runs once', async () => {
  const held = call('controller');
  await expect.poll(sandboxes, { timeout: 10_000 }).toBeGreaterThan(0);
  await corral.killPart('controller');
  expect(await held).toMatchObject({ status: 200, body: { output: 'ran\n' } });
  expect(await corral.rft.grade({ trace: 'controller' })).toMatchObject({ status: 200, body: { score: 1 } });
  await expect.poll(sandboxes, { timeout: 10_000 }).toBe(0);
});

test('a sandbox killed while it starts: another is started, the caller notices nothing', async () => {
  const held = call('starting');
  await expect.poll(sandboxes, { timeout: 10_000 }).toBeGreaterThan(0);
  for (const { pid } of await corral.fleet.sandboxes()) process.kill(pid, 'SIGKILL');
  expect(await held).toMatchObject({ status: 200, body: { output: 'ran\n' } });
  expect(await corral.rft.grade({ trace: 'starting' })).toMatchObject({ status: 200, body: { score: 1 } });
});
