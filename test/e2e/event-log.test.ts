import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { stateFolderAt } from '#cli/fleet/state-folder.ts';
import { startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { readEvents } from '#src/adapters/event-log/read-events.ts';
import type { FleetEvent, RolloutEvent } from '#src/ports/event-log.ts';
import { facesOf } from '../support/faces.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '../support/fleet.ts';

/** Idle rollouts expire within two seconds; the controller looks every second. */
const hasty = `${shellEnvironment.replace('name: shell', 'name: hasty')}limits: { idle: 2s }\n`;

let world: FleetOfTest;
beforeAll(async () => {
  world = await startFleetOfTest({ environments: { shell: shellEnvironment, hasty } });
});
afterAll(() => world.stop());

async function eventsOf(rollout: string): Promise<readonly RolloutEvent[]> {
  const events = await Array.fromAsync(readEvents(join(world.fleet.stateDir, 'events')));
  return events.filter(({ key }) => key.includes(`/${rollout}/`));
}

/** The verdict that the log tells once it has one. */
async function verdictOf(rollout: string): Promise<unknown> {
  const find = async () => (await eventsOf(rollout)).find(({ kind }) => kind === 'verdict');
  return vi.waitUntil(find, { timeout: 30_000, interval: 50 });
}

test('a killed sandbox is told in the log: the call that ran in it and the verdict', async () => {
  await world.rft.call({ trace: 'killed', call: 'c1', command: 'echo' });
  const running = world.rft.call({ trace: 'killed', call: 'c2', command: 'sleep 20' });
  await vi.waitUntil(async () => {
    const { body } = await world.native.get('/v1/rollouts/killed');
    return (body as { readonly in_flight: number }).in_flight === 1;
  });
  await world.killSandboxOf('killed');
  expect((await running).status).toBe(503);
  expect(await verdictOf('killed')).toMatchObject({
    verdict: { kind: 'discard', code: 'sandbox_lost', cause: 'sandboxd_killed' },
  });
  const calls = (await eventsOf('killed')).flatMap((event) => (event.kind === 'call_settled' ? [event] : []));
  expect(calls.map(({ summary, blame }) => [summary.call, blame])).toEqual(
    expect.arrayContaining([
      ['c1', null],
      ['c2', 'infrastructure'],
    ]),
  );
  expect(calls).toHaveLength(2);
});

test('a rollout that nobody called any more is told as expired', async () => {
  await world.rft.call({ trace: 'silent', call: 'c1', command: 'echo', environment: 'hasty' });
  expect(await verdictOf('silent')).toMatchObject({ verdict: { kind: 'discard', code: 'rollout_expired' } });
});

test('gateway and controller write files of their own', async () => {
  const names = await readdir(join(world.fleet.stateDir, 'events'));
  const files = names.filter((name) => name !== 'log-id');
  const writers = files.map((name) => /^events-[\d-]{10}-([a-z]+)-/.exec(name)?.[1]);
  expect(new Set(writers)).toEqual(new Set(['controller', 'gateway']));
});

test('a gateway that tells its events on standard output needs no folder, and a flood at its door is counted there', async () => {
  const environments = join(world.fleet.stateDir, '../environments');
  const gateway = await startExtraGateway(world.fleet, environments, undefined, {
    CORRAL_EVENT_LOG_TO: 'stdout',
    CORRAL_EVENT_LOG_DIR: '',
  });
  const { rft } = facesOf(gateway.url, world.fleet.apiKey);
  // What a policy writes is one text in a line, and never a line.
  const forged = 'echo\n{"kind":"verdict","atMs":1,"score":1}\r\n{"kind":"keys_changed"}';
  await rft.call({ trace: 'spoken', call: 'c1', command: forged });
  await rft.grade({ trace: 'spoken' });
  const refused = Array.from({ length: 200 }, () => fetch(`${gateway.url}/v1/runs`));
  expect(new Set((await Promise.all(refused)).map(({ status }) => status))).toEqual(new Set([401]));
  await gateway.stop();
  const said = await readFile(join(stateFolderAt(world.fleet.stateDir).logs, 'extra-gateway.jsonl'), 'utf8');
  const lines = said.split('\n').filter((line) => line.startsWith('{"kind"'));
  const events = lines.map((line) => JSON.parse(line) as FleetEvent);
  const keyId = 'development';
  expect(events.slice(0, 2)).toMatchObject([
    { kind: 'call_settled', summary: { call: 'c1' }, keyId },
    { kind: 'verdict', verdict: { kind: 'scorable' }, score: 1, keyId },
  ]);
  // Ten lines a minute of whoever shows no key, and what is left of the last minute at the end.
  const told = events.filter(({ kind }) => kind === 'request_refused');
  const untold = events.flatMap((event) => (event.kind === 'deeds_untold' ? [event.count] : []));
  expect(told.length).toBeLessThanOrEqual(20);
  expect(told.length + untold.reduce((sum, count) => sum + count, 0)).toBe(200);
  expect(events).toHaveLength(2 + told.length + untold.length);
  expect(said).not.toContain(world.fleet.apiKey);
  expect(await eventsOf('spoken')).toEqual([]);
});
