import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer } from '#test/support/faces.ts';
import { countingEnvironment, installRelease, type Release } from '#test/support/release.ts';

const environment = 'counting';
const tools = { shell: { builtin: 'shell', timeout: '200s' } };

let corral: Release;
beforeAll(async () => {
  const counting = { ...countingEnvironment, tools };
  corral = await installRelease('held', { environments: { inline: { counting } } });
});
afterAll(() => corral.remove());

/** Runs for a minute, and on until `go` is there: the roll, however long it takes, ends before it does. */
const minute = 'sleep 60; until [ -e go ]; do sleep 0.2; done; echo ran >> log; echo done';

const hold = (trace: string): Promise<Answer> =>
  corral.rft.call({ trace, call: 'held', command: minute, environment });
const letGo = (trace: string) => corral.rft.call({ trace, call: 'go', command: 'touch go', environment });
const grade = (trace: string) => corral.rft.grade({ trace, environment });

async function untilItRuns(trace: string): Promise<void> {
  const view = async () => (await corral.native.get(`/v1/rollouts/${trace}`)).body;
  await expect.poll(view).toMatchObject({ in_flight: 1 });
}

/** Names of the gateways' pods, also of those that leave. */
async function gateways(): Promise<readonly string[]> {
  const selector = '--selector=app.kubernetes.io/component=gateway';
  return (await corral.kubectl(['get', 'pods', selector, '--output=name'])).trim().split('\n');
}

/** Resolves when the new ones serve, and the old ones leave. */
async function roll(): Promise<void> {
  await corral.kubectl(['rollout', 'restart', 'deployment/held-gateway']);
  await corral.kubectl(['rollout', 'status', 'deployment/held-gateway', '--timeout=150s']);
}

const ranOnce = { status: 200, body: { score: 1 } };

test('a call of a minute is held while all gateways are replaced: it is answered 200, and has run once', async () => {
  const held = hold('rolled');
  await untilItRuns('rolled');
  const before = await gateways();
  await roll();
  // Who holds it is one of those; the others had nothing to wait for.
  await expect.poll(async () => (await gateways()).filter((pod) => before.includes(pod))).toHaveLength(1);
  expect(await letGo('rolled')).toMatchObject({ status: 200 });
  expect(await held).toMatchObject({ status: 200, body: { output: 'done\n' } });
  expect(await grade('rolled')).toMatchObject(ranOnce);
});

test('where gateways wait for nobody it is told 503 with retry-after, and sent again it joins what it began', async () => {
  await corral.upgrade({ gateway: { graceSeconds: 1 } });
  // The old ones have the old patience, and must not be those who hold it.
  await expect.poll(gateways).toHaveLength(2);
  const held = hold('cut');
  await untilItRuns('cut');
  await roll();
  expect(await held).toMatchObject({
    status: 503,
    retryAfter: expect.stringMatching(/^\d+$/) as string,
    body: { error: { code: 'shutting_down', blame: 'infrastructure', admitted: 'unknown', retryable: true } },
  });
  expect(await letGo('cut')).toMatchObject({ status: 200 });
  expect(await hold('cut')).toMatchObject({ status: 200, body: { output: 'done\n' } });
  expect(await grade('cut')).toMatchObject(ranOnce);
});
