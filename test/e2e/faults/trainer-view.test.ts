import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ExtraGateway, startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { judge } from '#loadtest/trainer/judge.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { playAll, scriptOf } from '#test/support/trainer.ts';

/** A rollout's reward is the number of its calls. */
const environment = `
name: shell
sandbox: { image: host, disk: 16Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 30s } }
grader: { kind: command, command: [sh, -c, 'as-policy sh -c "wc -l < calls" > "$CORRAL_SCORE_FILE"'], on_exit: discard, on_timeout: discard, on_out_of_memory: discard, on_broken: discard }
pool: { min_ready: 6, max: 12 }
`;

let corral: FleetOfTest;
let extra: ExtraGateway;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment }, keepRecords: true });
  extra = await startExtraGateway(corral.fleet, join(dirname(corral.fleet.stateDir), 'environments'));
});
afterAll(async () => {
  await extra.stop();
  await corral.stop();
});

/** Six sandboxes that are not warm yet take their time on a busy machine. */
const startTime = { timeout: 60_000 };

const isRunning = async (rollout: string) => {
  const { body } = await corral.native.get(`/v1/rollouts/${rollout}`);
  return (body as { readonly in_flight?: number }).in_flight === 1;
};

test('gateway, Redis, controller and one sandbox killed under six rollouts: five are scored as if nothing was, one is discarded, and nobody is fooled', async () => {
  const rollouts = ['a', 'b', 'c', 'd', 'e', 'hit'];
  const { gatewayUrl, apiKey } = corral.fleet;
  const scripts = rollouts.map((rollout) => scriptOf(rollout, 3, rollout === 'hit' ? 60_000 : 800));
  const playing = playAll([gatewayUrl, extra.url], apiKey, scripts);
  await expect.poll(() => isRunning('hit'), startTime).toBe(true);
  await corral.killSandboxOf('hit');
  await corral.killPart('gateway');
  await corral.killPart('redis');
  await corral.killPart('controller');
  const truths = await playing;
  expect(truths.flatMap(judge)).toEqual([]);
  expect(truths.map(({ ending }) => (ending.kind === 'scored' ? ending.score : ending))).toEqual([
    ...rollouts.slice(1).map(() => 3),
    // Its last try may have met the sandbox's loss or the dead gateway.
    expect.objectContaining({ kind: 'discarded' }),
  ]);
  expect(await corral.native.get('/v1/rollouts/hit')).toMatchObject({
    body: { score: null, verdict: { kind: 'discard', code: 'sandbox_lost' } },
  });
});
