import { afterAll, beforeAll, expect, test } from 'vitest';
import { importImages } from '#infra/cluster/images/import.ts';
import { buildImage } from '#infra/images/build.ts';
import { formerPlaces, payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import {
  type ClusterFleetOfTest,
  podEnvironment,
  podResources,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { rolloutsOf } from '#test/support/pod-rollouts.ts';
import { runsProgram } from '#test/support/small-program.ts';

/*
 * Pods without ids of their own: their commands are the user 1000 of one node, which grants it 128 inotify instances. One pod takes
 * all of them, and a program of another one that watches a file fails.
 */

let corral: ClusterFleetOfTest;
beforeAll(async () => {
  const cluster = await clusterOfTest();
  const { archive } = await buildImage('bare');
  for (const node of cluster.nodes) await importImages(cluster, node, [archive]);
  const resources = `${podResources}, node_selector: { kubernetes.io/hostname: n1 }`;
  const sandbox = `image: "corral.local/bare:dev", ${resources}`;
  const watching = podEnvironment('watching', { sandbox, timeout: '20s' });
  corral = await startClusterFleetOfTest({ name: 'neighbors-limits', environments: { watching } });
});
afterAll(() => corral?.stop());

const { call, grade, view } = rolloutsOf(() => corral, 'watching');

const inNode = (script: string) => `${payloadNodeArgv(formerPlaces.payload).join(' ')} --eval '${script}'`;
/** Takes each that is given back, such as what sandboxd tries with, and holds them while its call lasts. */
const take = runsProgram(`
  long pause[2] = { 0, 10000000 };
  for (;;) {
    while (call(SYS_inotify_init1, 0, 0, 0, 0) >= 0);
    call5(SYS_ppoll, 0, 0, (word)pause, 0, 0);
  }`);
/** A program that watches a file, and is scored for what it saw. */
const work = inNode(`
  const watcher = fs.watch(".", () => {
    fs.appendFileSync("log", "ran\\n");
    process.exit();
  });
  setInterval(() => fs.writeFileSync("file", String(Math.random())), 50);`);

const lost = {
  score: null,
  verdict: {
    kind: 'discard',
    code: 'sandbox_lost',
    cause: 'node_limit_used_up',
    suspected: 'command',
  },
};

/** It has the score that its work is worth, or is discarded and marked; returns which. */
async function played(rollout: string): Promise<'scored' | 'discarded'> {
  const { status } = await call(rollout, 'c1', work);
  const graded = await grade(rollout);
  if (status === 200 && graded.status === 200) {
    expect(graded).toMatchObject({ body: { score: 1 } });
    return 'scored';
  }
  expect(graded).toMatchObject({ status: 503 });
  expect(await view(rollout)).toMatchObject(lost);
  return 'discarded';
}

async function playUntil(wanted: 'scored' | 'discarded', name: string): Promise<void> {
  for (let number = 1; (await played(`${name}-${number}`)) !== wanted; number += 1);
}

test('a rollout whose neighbor takes all inotify instances of their user is never scored for that', async () => {
  expect(await played('control')).toBe('scored');
  const taking = call('taker', 'c1', take);
  await playUntil('discarded', 'honest');
  expect(await taking).toMatchObject({ status: 503 });
  expect(await view('taker')).toMatchObject(lost);
  await playUntil('scored', 'after');
});
