import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { addSpecialNode, type JoinedNode } from '#infra/cluster/special-node.ts';
import { buildImage } from '#infra/images/build.ts';
import { imageNames } from '#infra/images/catalogue.ts';
import { anyPlace } from '#src/model/environment.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { startPodSandbox } from '#test/support/pod-sandbox.ts';
import { runsProgram } from '#test/support/small-program.ts';

/* Pods with user ids of their own (`hostUsers: false`), on a node whose runtime can. */

const taint = 'example.com/own-ids';

let cluster: Cluster;
let joined: JoinedNode;
beforeAll(async () => {
  cluster = await clusterOfTest();
  const archives = [await buildImage('bare'), await buildImage('sandboxd')].map(({ archive }) => archive);
  joined = await addSpecialNode(cluster, { taint, diskBytes: null, hasNewRunc: true, images: archives });
});
afterAll(() => joined?.[Symbol.asyncDispose]());

const start = (given: object, sandboxd?: object) => {
  const placement = {
    ...anyPlace,
    nodeSelector: { 'kubernetes.io/hostname': joined.node.name },
    tolerations: [{ key: taint, operator: 'Exists' as const, value: null, effect: null }],
  };
  const image = { kind: 'image', reference: imageNames.bare } as const;
  return startPodSandbox(cluster, { image, placement, ...given }, { hostUsers: 'require', ...sandboxd });
};

test('the node says that it can', async () => {
  const path = 'jsonpath={.status.runtimeHandlers[?(@.name=="")].features.userNamespaces}';
  expect(await kubectl(cluster, ['get', 'node', joined.node.name, '--output', path])).toBe('true');
});

const mebibyte = 1024 ** 2;
const copied = { sandboxd: { kind: 'init_container', image: imageNames.sandboxd } };
const mounted = { sandboxd: { kind: 'image_volume', image: imageNames.sandboxd } };

test.each([
  ['two ids', {}, '1000', {}],
  ['one id', { uid: 'single' }, '1000', {}],
  ['root', { runAs: 'root' }, '0', {}],
  ['a payload that is copied', {}, '1000', copied],
  ['a payload that is an image volume', {}, '1000', mounted],
])('a sandbox with %s has user ids of its own, and works', async (_, given, uid, sandboxd) => {
  await using sandbox = await start(given, sandboxd);
  await using other = await start(given, sandboxd);
  const map = async (each: typeof sandbox) =>
    /^ {1,20}0 {1,20}(\d{1,10}) {1,20}65536$/m.exec(await each.sh('cat /proc/self/uid_map'))?.[1];
  const [first, second] = [await map(sandbox), await map(other)];
  expect(Number(first)).toBeGreaterThan(0);
  expect(second).not.toBe(first);
  expect(await sandbox.sh('id -u; echo written > file && cat file')).toBe(`${uid}\nwritten\n`);
});

test('root with ids of its own has the rights of a container’s root, and none beyond', async () => {
  await using sandbox = await start({ runAs: 'root', diskBytes: 8 * mebibyte }, copied);
  const can = [
    'touch given && chown 1234:1234 given && stat -c %u given',
    'mkdir -m 700 closed && chown 1234 closed && touch closed/file && echo entered',
    'chmod 4755 given && stat -c %a given',
    'chroot / echo changed root',
  ];
  expect(await sandbox.sh(can.join('; '))).toBe('1234\nentered\n4755\nchanged root\n');
  const cannot = [
    'mknod null c 1 3',
    'mount -t tmpfs none /tmp',
    'mount -o remount,rw /.corral/payload',
    'ulimit -f unlimited',
  ];
  for (const command of cannot) expect(await sandbox.sh(`${command} && echo done`)).not.toContain('done');
});

test('root with ids of its own writes the file for last words up to the largest file of a sandbox', async () => {
  await using sandbox = await start({ runAs: 'root', diskBytes: 8 * mebibyte }, copied);
  const file = '/.corral/payload/closed/last-words';
  const bytes = await sandbox.sh(
    `dd if=/dev/zero of=${file} bs=1M count=80 2> /dev/null; stat -c %s ${file}`,
  );
  expect(bytes).toBe(`${64 * mebibyte}\n`);
});

/*
 * The kernel charges inotify instances of a user namespace to who made it as well, and that is the runtime's root for every pod. What it
 * counts for a user alone is apart.
 */
test.each([
  ['inotify instances are shared', 'SYS_inotify_init1, 0', 0, 128],
  ['pipes are not', 'SYS_pipe2, (word)ends', 2_000, 2_000],
])('between two sandboxes %s', async (_, taking, least, most) => {
  await using one = await start({});
  await using other = await start({});
  const take = `int ends[2]; (void)ends; for (int count = 0; count < 1000 && call(${taking}, 0, 0, 0) >= 0; count++)
    call(SYS_write, 1, (word)"1", 1, 0);`;
  const hold = `${take} call(SYS_write, 1, (word)".", 1, 0); for (;;) call5(SYS_ppoll, 0, 0, 0, 0, 0);`;
  const held = await one.sh(
    `(${runsProgram(hold)}) > said 2>&1 & until grep -q '[.]' said; do sleep 0.1; done; tr -d . < said`,
  );
  const had = await other.sh(runsProgram(take));
  expect(held.length).toBeGreaterThan(0);
  expect(held.length + had.length).toBeGreaterThanOrEqual(least);
  expect(held.length + had.length).toBeLessThanOrEqual(most);
});
