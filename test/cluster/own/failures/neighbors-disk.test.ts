import { statfsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kubectl } from '#infra/cluster/api.ts';
import { killKubelet, startKubelet } from '#infra/cluster/levers.ts';
import { addSpecialNode, type JoinedNode } from '#infra/cluster/special-node.ts';
import { buildImage } from '#infra/images/build.ts';
import {
  type ClusterFleetOfTest,
  podEnvironment,
  podResources,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { formerPlaces, payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import type { Answer } from '#test/support/faces.ts';
import { rolloutsOf } from '#test/support/pod-rollouts.ts';

/*
 * A node with a small disk, and with the thresholds for evictions that the kubelet is shipped with. One pod fills that disk, and the
 * writes of the others fail.
 */

const taint = 'example.com/own-disk';
const gibibyte = 1024 ** 3;

/** A kubelet that starts again has forgotten that its node was short; otherwise it takes no pods for five minutes. */
async function untilNodeTakesPods(): Promise<void> {
  const { node } = joined;
  const isFree = () => {
    const { bavail, blocks, ffree, files } = statfsSync(node.folder);
    return bavail > blocks / 2 && ffree > files / 2;
  };
  await expect.poll(isFree).toBe(true);
  const plan = { ...corral.cluster, nodes: [node] };
  await killKubelet(plan, node.name);
  await startKubelet(plan, node.name);
  await kubectl(plan, ['wait', `node/${node.name}`, '--for=condition=DiskPressure=false', '--timeout=60s']);
}

let corral: ClusterFleetOfTest;
let joined: JoinedNode;
beforeAll(async () => {
  const cluster = await clusterOfTest();
  const { archive } = await buildImage('bare');
  joined = await addSpecialNode(cluster, {
    taint,
    diskBytes: 1.5 * gibibyte,
    hasNewRunc: false,
    images: [archive],
  });
  const place = `node_selector: { kubernetes.io/hostname: ${joined.node.name} }, tolerations: [{ key: ${taint} }]`;
  const small = podEnvironment('small', {
    sandbox: `image: "corral.local/bare:dev", ${podResources}, ${place}`,
    pool: '{ min_ready: 4, max: 8 }',
  });
  corral = await startClusterFleetOfTest({ name: 'neighbors-disk', environments: { small } });
});
afterAll(async () => {
  await corral?.stop();
  await joined?.[Symbol.asyncDispose]();
});

const { call, grade, view, expectScored } = rolloutsOf(() => corral, 'small');

const write = 'echo ran >> log';
/** Works for a while, and then writes what it is graded for. */
const work = `for i in $(seq 100); do echo $i > progress; sleep 0.2; done; ${write}`;

const inNode = (script: string) => `${payloadNodeArgv(formerPlaces.payload).join(' ')} --eval '${script}'`;
/** As many files as there is room for: one may not be larger than the sandbox's disk. */
const fill = (after = '') => `
  for (let at = 0, over = false; !over; at += 1) {
    const file = fs.openSync("f" + at, "w");
    over = child_process.spawnSync("fallocate", ["-l", "60M", "f" + at]).status !== 0;
    ${after}
  }
  setTimeout(() => {}, 10_000);`;
const deep =
  'for (let at = 0; at < 30; at += 1) { fs.mkdirSync("d".repeat(200)); process.chdir("d".repeat(200)); }';
/** What is not written yet counts as memory of the sandbox. */
const count = `
  const log = fs.openSync("log", "a");
  try {
    for (let at = 0; ; at += 1) {
      fs.closeSync(fs.openSync("f" + at, "w"));
      if (at % 1_000 === 0) fs.fsyncSync(log);
    }
  } catch {}
  setTimeout(() => {}, 10_000);`;

test('without a neighbor that fills the disk, the same work is scored', async () => {
  expect(await call('control', 'c1', work)).toMatchObject({ status: 200 });
  expect(await call('control', 'c2', write)).toMatchObject({ status: 200 });
  await expectScored('control', 2);
});

test.each([
  ['files', fill()],
  ['files in folders whose path is too long to be measured', `${deep} ${fill()}`],
  ['files without names', fill('fs.unlinkSync("f" + at);')],
  ['empty files', count],
])(
  'rollouts whose neighbor fills the disk of their node are never scored for that: %s',
  async (kind, script) => {
    await untilNodeTakesPods();
    const run = kind.replaceAll(' ', '_');
    const honest = [1, 2, 3].map((number) => `honest_${run}_${number}`);
    const filler = `filler_${run}`;
    for (const rollout of [...honest, filler]) {
      expect(await call(rollout, 'c1', write)).toMatchObject({ status: 200 });
    }
    await Promise.all([
      call(filler, 'c2', inNode(script)),
      ...honest.map((rollout) => call(rollout, 'c2', work)),
    ]);
    const answers = await Promise.all(honest.map(grade));
    // Otherwise no write failed, and nothing is tested.
    expect(answers.filter(({ status }) => status === 503).length).toBeGreaterThan(0);
    for (const [index, answer] of answers.entries()) {
      await expectTrueOrMarked(honest[index] ?? '', answer, 2);
    }
    await expectTrueOrMarked(filler, await grade(filler), 0);
  },
);

/** It has the score that its work is worth, or is discarded and marked. */
async function expectTrueOrMarked(rollout: string, { status, body }: Answer, score: number): Promise<void> {
  if (status === 200) expect(body).toMatchObject({ score });
  else expect(await view(rollout)).toMatchObject({ verdict: { kind: 'discard', suspected: 'command' } });
}
