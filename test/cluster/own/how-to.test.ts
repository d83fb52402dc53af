import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { importImages } from '#infra/cluster/images/import.ts';
import { buildImage } from '#infra/images/build.ts';
import { imageNames } from '#infra/images/catalogue.ts';
import { type ClusterFleetOfTest, startClusterFleetOfTest } from '#test/support/cluster-fleet.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { followHarborPage, type HarborPage, readHarborPage } from '#test/support/how-to/harbor-page.ts';
import { refusedTasks } from '#test/support/how-to/harbor-tasks.ts';
import { followSwePage, type SwePage } from '#test/support/how-to/swe-page.ts';

/* docs/swe-bench.md and docs/terminal-bench.md on a cluster, whose nodes have the images of the tasks as if they had been pulled. */

let page: SwePage;
let harborPage: HarborPage;
let corral: ClusterFleetOfTest;
beforeAll(async () => {
  page = await followSwePage('corral.local');
  const [task] = page.tasks;
  if (task === undefined) throw new Error('no task was made');
  harborPage = await followHarborPage('corral.local', task, page.rows[0]?.image ?? '');
  const cluster = await clusterOfTest();
  const archives = [(await buildImage('sandboxd')).archive, ...page.tasks.map(({ archive }) => archive)];
  await Promise.all(cluster.nodes.map((node) => importImages(cluster, node, archives)));
  corral = await startClusterFleetOfTest({
    name: 'how-to',
    environments: { swe: page.environment, 'terminal-bench': harborPage.environment },
    files: page.files,
    sandboxd: `{ init_container: "${imageNames.sandboxd}" }`,
  });
}, 600_000);
afterAll(async () => {
  await corral.stop();
  for (const { folder } of [page, harborPage]) await rm(folder, { recursive: true });
});

test('the policies of the page on tasks in the form of SWE-bench stand in order', async () => {
  const printed = await page.play(corral.fleet, 'cluster');
  expect(printed).toContain('0 changes of at most 4096');
  expect(printed).toMatch(/published-fix +reference +2 +1\.000 +1\.000/);
  expect(printed).toContain('The rungs stand in order.');
  expect(printed).toMatch(/"templates":\["[^"]+","[^"]+"\]/);
}, 600_000);

test('a task in the form of Harbor is proven, and what Corral does not run is refused by name', async () => {
  const wanted = Object.entries(refusedTasks).map(([name, { requirement }]) => [name, requirement] as const);
  expect(readHarborPage(await harborPage.play(corral.fleet))).toEqual({
    ...Object.fromEntries(wanted),
    standing: expect.stringContaining('proven'),
    nop: expect.stringContaining('reward 0'),
  });
}, 600_000);
