import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createHttpClient, type HttpClient } from '#cli/gateway/http-client.ts';
import { runCommandLine } from '#cli/program.ts';
import { followRun } from '#cli/stories/follow-run.ts';
import { type ExtraGateway, startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { openEventIndex } from '#src/adapters/event-index/event-index.ts';
import { parseEvent } from '#src/adapters/event-log/event-lines.ts';
import type { EventIndex } from '#src/ports/event-index.ts';
import { type Faces, facesOf } from '../support/faces.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '../support/fleet.ts';

/*
 * The logs of two real gateways and a controller, followed by one index while processes are killed, restarted and gone.
 * What the index has is compared with the lines on the disks.
 */

let world: FleetOfTest;
let other: ExtraGateway;
let otherFolder: string;
let faces: Faces;
let client: HttpClient;
let index: EventIndex;
beforeAll(async () => {
  world = await startFleetOfTest({ environments: { shell: shellEnvironment } });
  const { stateDir, gatewayUrl, apiKey } = world.fleet;
  otherFolder = join(stateDir, 'events-of-the-other');
  other = await startExtraGateway(world.fleet, world.environmentsDir, undefined, {
    CORRAL_EVENT_LOG_DIR: otherFolder,
  });
  faces = facesOf(other.url, apiKey);
  client = createHttpClient({ url: gatewayUrl, key: apiKey, run: null });
  index = await openEventIndex(join(stateDir, 'test.sqlite'));
});
afterAll(async () => {
  index.close();
  await client.close();
  await other.stop();
  await world.stop();
});

const follow = async () => {
  const missing = await followRun(client, 'development', index);
  if (missing === null) throw new Error('the gateway cannot be followed');
  return missing;
};

/** Every event of the run in the files of these folders. */
async function written(...folders: readonly string[]): Promise<readonly string[]> {
  const texts = await Promise.all(
    folders.map(async (folder) => {
      const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl'));
      return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
    }),
  );
  const lines = texts.flat().flatMap((text) => text.split('\n'));
  return lines.filter((line) => parseEvent(line)?.key.includes('/development/') === true).toSorted();
}

const own = () => join(world.fleet.stateDir, 'events');
const indexed = () => [...index.lines()].toSorted();

async function play(by: Faces, rollout: string): Promise<void> {
  expect((await by.rft.call({ trace: rollout, call: 'c1', command: 'echo one' })).status).toBe(200);
  expect((await by.rft.grade({ trace: rollout })).status).toBe(200);
}

const pidOf = () => {
  const pid = other.pid();
  if (pid === null) throw new Error('the other gateway does not run');
  return pid;
};

test('what two gateways logged is indexed once, however often it is read', async () => {
  await play(world, 'r1');
  await play(faces, 'r2');
  expect(await follow()).toEqual([]);
  const lines = await written(own(), otherFolder);
  expect(lines.length).toBeGreaterThanOrEqual(4);
  expect(indexed()).toEqual(lines);
  expect(await follow()).toEqual([]);
  expect(indexed()).toEqual(lines);
});

test('both gateways killed and started again: their new files are read on, and nothing of the old ones again', async () => {
  const before = pidOf();
  process.kill(before, 'SIGKILL');
  await world.killPart('gateway');
  await vi.waitUntil(() => other.pid() !== null && other.pid() !== before, { timeout: 60_000 });
  await vi.waitUntil(async () => (await fetch(`${other.url}/readyz`).catch(() => null))?.ok === true, {
    timeout: 60_000,
  });
  await play(world, 'r3');
  await play(faces, 'r4');
  // A process that has just come says where it is within seconds.
  await vi.waitUntil(async () => (await follow()).length === 0, { timeout: 60_000, interval: 200 });
  expect(indexed()).toEqual(await written(own(), otherFolder));
  expect((await readdir(otherFolder)).filter((name) => name.endsWith('.jsonl')).length).toBeGreaterThan(1);
});

test('a gateway killed while its log is read costs tries and no line', async () => {
  const second = await openEventIndex(join(world.fleet.stateDir, 'second.sqlite'));
  const reading = followRun(client, 'development', second).catch(() => 'broken');
  const before = pidOf();
  process.kill(before, 'SIGKILL');
  await reading;
  await vi.waitUntil(() => other.pid() !== null && other.pid() !== before, { timeout: 60_000 });
  await vi.waitUntil(async () => (await followRun(client, 'development', second))?.length === 0, {
    timeout: 60_000,
    interval: 200,
  });
  expect([...second.lines()].toSorted()).toEqual(await written(own(), otherFolder));
  second.close();
});

test('a pod that died takes its log with it: the log is named, and what was read of it before stays', async () => {
  await play(faces, 'r5');
  expect(await follow()).toEqual([]);
  const had = indexed();
  const late = facesOf(other.url, world.fleet.apiKey);
  await play(late, 'r6');
  await other.stop();
  await rm(otherFolder, { recursive: true });
  const gone = async () => (await follow()).filter(({ why }) => why === 'it is gone');
  await vi.waitUntil(async () => (await gone()).length > 0, { timeout: 60_000, interval: 200 });
  expect(await gone()).toMatchObject([{ keeper: expect.stringMatching(/^gateway /), told: 'some' }]);
  for (const line of had) expect(indexed()).toContain(line);
  const fresh = await openEventIndex(null);
  expect(await followRun(client, 'development', fresh)).toMatchObject([
    { told: 'nothing', why: 'it is gone' },
  ]);
  fresh.close();
});

test('commands read the whole run by this, and name the log that is gone', async () => {
  const said: string[] = [];
  const tell = (text: string) => void said.push(text);
  const terminal = { result: tell, remark: tell, width: 160 };
  const { stateDir } = world.fleet;
  expect(await runCommandLine(['run', 'development', '--json', '--state', stateDir], terminal)).toBe(0);
  const story = JSON.parse(said.join('\n')) as { readonly missing: readonly { readonly why: string }[] };
  expect(story.missing.map(({ why }) => why)).toEqual(['it is gone']);
  expect((await readdir(join(stateDir, 'runs'))).filter((name) => name.endsWith('.sqlite'))).toHaveLength(1);
});
