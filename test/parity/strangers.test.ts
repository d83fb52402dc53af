import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Fleet, startFleet } from '#cli/fleet/start-fleet.ts';
import { createHttpClient, type HttpClient } from '#cli/gateway/http-client.ts';
import { fleetFolders, sharedPayload } from '#test/support/fleet-folders.ts';
import { strangersEnvironment } from '../strangers/environment.ts';
import { playTask } from '../strangers/play-task.ts';
import { formatTable } from '../strangers/table.ts';

/* `npm run test:strangers` on two small tasks: one that is equal in both places, and one that reads what is listed as different. */

/** `files`: what Harbor's tasks have, by path. */
const taskFiles = (solution: string): Readonly<Record<string, string>> => ({
  'task.toml': 'version = "1.0"\n[environment]\nmemory_mb = 512\n',
  'environment/Dockerfile': 'FROM debian:12\n',
  'solution/solve.sh': `#!/bin/bash\n${solution}\n`,
  'tests/test.sh': `#!/bin/bash
reward=0
[ "$(cat /srv/answer)" = 0 ] && reward=1
echo $reward > /logs/verifier/reward.txt
`,
});
const tasks = {
  equal: 'echo 0 > /srv/answer && chown 1000:1000 /srv/answer',
  different: 'nice > /srv/answer',
};

let fleet: Fleet;
let client: HttpClient;
let work: string;
let folders: Awaited<ReturnType<typeof fleetFolders>>;
beforeAll(async () => {
  const root = inject('parityRoot');
  mkdirSync('/var/tmp', { recursive: true });
  work = mkdtempSync('/var/tmp/corral-strangers-');
  for (const [name, solution] of Object.entries(tasks)) writeTask(join(work, 'tasks', name), solution);
  folders = await fleetFolders({ strangers: strangersEnvironment(`rootfs:${dirname(root)}/*`) });
  const { environmentsDir, stateDir } = folders;
  fleet = await startFleet({ environmentsDir, stateDir, payloadDir: sharedPayload });
  client = createHttpClient({ url: fleet.gatewayUrl, key: fleet.apiKey, run: 'strangers' });
});
afterAll(async () => {
  await client.close();
  await fleet.stop();
  for (const folder of [folders.root, work]) rmSync(folder, { recursive: true, force: true });
});

function writeTask(folder: string, solution: string): void {
  for (const [path, text] of Object.entries(taskFiles(solution))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

const imageOf = async (root: string) => `rootfs:${root}`;
const placesOver = (root: string) => ({
  client,
  environment: 'strangers',
  rootOf: () => root,
  imageOf,
  work,
});

const play = (name: string) => playTask(placesOver(inject('parityRoot')), join(work, 'tasks', name));

test('a task that reads what differs fails, and one that does not passes', async () => {
  const printed = formatTable([await play('equal'), await play('different')]);
  expect(printed).toMatch(/\nequal +1 +1 +0 +0 +passed\n/);
  expect(printed).toMatch(/\ndifferent +1 +0 +0 +0 +failed\n/);
  expect(printed).toMatch(/\n1 passed, 1 failed$/);
});

test('a task without a root is not compared', async () => {
  const missing = placesOver(join(work, 'missing'));
  const printed = formatTable([await playTask(missing, join(work, 'tasks/equal'))]);
  expect(printed).toContain('not played: there is no root');
});
