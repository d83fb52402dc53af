import { afterAll, beforeAll, expect, test } from 'vitest';
import { underLoad } from '#test/support/load.ts';
import { installRelease, type Release } from '#test/support/release.ts';

/** One release, from nothing to nothing; the tests are its life, in order. */
let corral: Release;
beforeAll(async () => {
  corral = await installRelease('fleet');
});
afterAll(() => corral.remove());

const environment = 'counting';
const call = { trace: 'first', call: 'c1', command: 'echo ran >> log', environment } as const;

test('installed with one command, it serves and grades a first rollout through a port of its nodes', async () => {
  expect(await corral.rft.call(call)).toMatchObject({ status: 200 });
  expect(await corral.rft.grade({ trace: 'first', environment })).toMatchObject({
    status: 200,
    body: { score: 1 },
  });
});

test('helm test tries every tool and grader as a training job would, and finds the fleet ready for one', async () => {
  expect(await corral.helm(['test', '--timeout=120s'])).toMatch(/Phase:\s+Succeeded/);
});

test('gateways are replaced under load: every rollout is scored, every answer is 200, and nothing runs twice', async () => {
  await underLoad(corral, async () => {
    await corral.kubectl(['rollout', 'restart', 'deployment/fleet-gateway']);
    await corral.kubectl(['rollout', 'status', 'deployment/fleet-gateway', '--timeout=200s']);
  });
});

test('uninstalled, it leaves no object with its label', async () => {
  expect(await corral.objects()).not.toEqual([]);
  await corral.remove();
  // Helm waits for what it made; gateways finish what they hold.
  await expect.poll(() => corral.objects()).toEqual([]);
});
