import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { taskFiles } from '#infra/images/tasks/task-files.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { followHarborPage, type HarborPage, readHarborPage } from '#test/support/how-to/harbor-page.ts';
import { refusedTasks } from '#test/support/how-to/harbor-tasks.ts';
import { makeSweTasks } from '#test/support/how-to/swe-tasks.ts';
import { pushTaskImage } from '#test/support/how-to/task-image.ts';
import { type ImageRegistry, startImageRegistry } from '#test/support/image-registry.ts';

/* docs/terminal-bench.md on one machine. */

let folder = '';
let registry: ImageRegistry;
let page: HarborPage;
let corral: FleetOfTest;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-tasks-'));
  registry = await startImageRegistry();
  const [task] = await makeSweTasks(await taskFiles(), folder);
  if (task === undefined) throw new Error('no task was made');
  const image = `${registry.host}/tb/fix-hyphen:1`;
  await pushTaskImage(task.archive, image);
  page = await followHarborPage(registry.host, task, image);
  corral = await startFleetOfTest({ environments: { 'terminal-bench': page.environment } });
}, 600_000);
afterAll(async () => {
  await corral.stop();
  await registry[Symbol.asyncDispose]();
  for (const each of [folder, page.folder]) await rm(each, { recursive: true });
});

test('a task of a real library is proven, and what Corral does not run is refused by name', async () => {
  const printed = await page.play(corral.fleet);
  const wanted = Object.entries(refusedTasks).map(([name, { requirement }]) => [name, requirement] as const);
  expect(readHarborPage(printed)).toEqual({
    ...Object.fromEntries(wanted),
    standing: expect.stringContaining('proven'),
    nop: expect.stringContaining('reward 0'),
  });
}, 600_000);
