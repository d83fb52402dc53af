import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readKeys, writeKeys } from '#cli/fleet/keys.ts';
import { stateFolderAt } from '#cli/fleet/state-folder.ts';
import { runCommandLine } from '#cli/program.ts';
import { type ExtraGateway, startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { createKey } from '#src/access/keys.ts';
import { readEvents } from '#src/adapters/event-log/read-events.ts';
import { runId, tenantId } from '#src/model/ids.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { KeepersLine } from '#src/protocol/fleet/events.ts';
import { facesOf } from '../support/faces.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '../support/fleet.ts';

/*
 * Two gateways of one fleet with a folder of events each, as two pods have. A rollout's calls pass through both, by keys of
 * two people; a third belongs to another tenant.
 */

const keyOf = (id: string, tenant: string) =>
  createKey(
    {
      id,
      tenant: tenantId(tenant),
      scopes: ['rft:tools', 'rft:grade', 'native'],
      defaultRun: runId('nightly'),
      expiresAtMs: null,
    },
    systemRandom,
  );
const trainer = keyOf('trainer', 'acme');
const helper = keyOf('helper', 'acme');
const stranger = keyOf('stranger', 'other');

let world: FleetOfTest;
let other: ExtraGateway;
let otherFolder: string;
beforeAll(async () => {
  world = await startFleetOfTest({ environments: { shell: shellEnvironment } });
  const { stateDir } = world.fleet;
  const { keysFile } = stateFolderAt(stateDir);
  writeKeys(keysFile, [...readKeys(keysFile), trainer.key, helper.key, stranger.key]);
  otherFolder = join(stateDir, 'events-of-the-other');
  other = await startExtraGateway(world.fleet, join(stateDir, '../environments'), undefined, {
    CORRAL_EVENT_LOG_DIR: otherFolder,
  });
  // The fleet's own gateway reads its keys again every five seconds.
  const known = () => facesOf(world.fleet.gatewayUrl, trainer.presented).native.get('/v1/runs');
  await vi.waitUntil(async () => (await known()).status === 200, { timeout: 20_000, interval: 200 });

  const first = facesOf(world.fleet.gatewayUrl, trainer.presented);
  const second = facesOf(other.url, helper.presented);
  expect((await first.rft.call({ trace: 't1', call: 'c1', command: 'echo one' })).status).toBe(200);
  expect((await second.rft.call({ trace: 't1', call: 'c2', command: 'echo two' })).status).toBe(200);
  expect((await second.rft.grade({ trace: 't1' })).status).toBe(200);
});
afterAll(async () => {
  await other.stop();
  await world.stop();
});

/** What a person sees who asks this gateway, far from its folders. */
async function screen(url: string, key: string): Promise<string> {
  const said: string[] = [];
  const tell = (text: string) => void said.push(text);
  const elsewhere = ['--url', url, '--key', key, '--state', join(world.fleet.stateDir, 'elsewhere')];
  await runCommandLine(['rollout', 't1', '--run', 'nightly', ...elsewhere], {
    result: tell,
    remark: tell,
    width: 160,
  });
  return said.join('\n');
}

async function linesOf(url: string, key: string, rollout: string): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${url}/v1/rollouts/${rollout}/events`, { headers });
  expect(answer.status).toBe(200);
  return (await answer.text()).trimEnd().split('\n');
}

const gapsIn = (lines: readonly string[]) =>
  (JSON.parse(lines.at(-1) ?? '') as KeepersLine).keepers.filter(({ told }) => told !== 'all');

/** What the other gateway has in its folder. */
const inOther = async () =>
  (await Array.fromAsync(readEvents(otherFolder))).map(({ kind, keyId }) => [kind, keyId]);

test('either gateway tells the whole story, with who ran what, though each has but a part of it', async () => {
  await expect.poll(inOther).toEqual([
    ['call_settled', 'helper'],
    ['verdict', 'helper'],
  ]);
  for (const url of [world.fleet.gatewayUrl, other.url]) {
    // A gateway is known to the others as soon as it has said that it is there.
    await expect.poll(() => screen(url, trainer.presented)).toMatch(/c2 .* helper .*echo two/);
    const story = await screen(url, trainer.presented);
    expect(story).toMatch(/^key +trainer, helper$/m);
    expect(story).toMatch(/c1 .* trainer .*echo one/);
    expect(story).not.toContain('not told');
    expect(story).not.toContain(trainer.presented);
  }
});

test('another tenant learns nothing by the id, not even that there is such a rollout', async () => {
  const foreign = await linesOf(world.fleet.gatewayUrl, stranger.presented, 't1');
  const unknown = await linesOf(world.fleet.gatewayUrl, stranger.presented, 'none');
  expect([foreign.length, unknown.length]).toEqual([1, 1]);
  expect(gapsIn(foreign)).toEqual([]);
});

test('a gateway that stands still costs two seconds, and what it alone knows is said to be missing', async () => {
  const pid = other.pid() ?? 0;
  process.kill(pid, 'SIGSTOP');
  try {
    const startedMs = performance.now();
    const lines = await linesOf(world.fleet.gatewayUrl, trainer.presented, 't1');
    expect(performance.now() - startedMs).toBeLessThan(6_000);
    expect(lines.filter((line) => line.includes('"call_settled"'))).toHaveLength(1);
    expect(gapsIn(lines)).toMatchObject([
      {
        keeper: expect.stringContaining(`process ${pid}`),
        told: 'nothing',
        why: expect.stringContaining('2 s'),
      },
    ]);
    const story = await screen(world.fleet.gatewayUrl, trainer.presented);
    expect(story).toMatch(/not told\n {2}gateway .*, process \d+: it did not answer/);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
});

test('a gateway that has ended is named, until a day later, as long as nobody else has its folder', async () => {
  await other.stop();
  const lines = await linesOf(world.fleet.gatewayUrl, trainer.presented, 't1');
  expect(gapsIn(lines)).toMatchObject([{ told: 'nothing', why: expect.stringContaining('ECONNREFUSED') }]);
  const gone = async () => gapsIn(await linesOf(world.fleet.gatewayUrl, trainer.presented, 't1'))[0]?.why;
  await expect.poll(gone, { timeout: 30_000, interval: 500 }).toBe('it is gone');
  other = await startExtraGateway(world.fleet, join(world.fleet.stateDir, '../environments'), undefined, {
    CORRAL_EVENT_LOG_DIR: otherFolder,
  });
  await expect
    .poll(async () => gapsIn(await linesOf(world.fleet.gatewayUrl, trainer.presented, 't1')))
    .toEqual([]);
  expect(await screen(world.fleet.gatewayUrl, trainer.presented)).toMatch(/c2 .* helper .*echo two/);
});
