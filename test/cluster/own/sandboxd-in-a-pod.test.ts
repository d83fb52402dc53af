import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cluster } from '../../../infra/cluster/api.ts';
import { importImages } from '../../../infra/cluster/images/import.ts';
import { buildImage, defaultCacheDir } from '../../../infra/images/build.ts';
import { bareImage, imageNames } from '../../../infra/images/catalogue.ts';
import { layer } from '../../../infra/images/contents/tree.ts';
import { writeArchive } from '../../../infra/images/oci/archive.ts';
import type { Entry } from '../../../infra/images/oci/tar.ts';
import { anyPlace } from '../../../src/model/environment.ts';
import { clusterOfTest } from '../../support/cluster.ts';
import { startPodSandbox } from '../../support/pod-sandbox.ts';

/** The payload in real containers: every way in, every way to run, and images that are none of ours. */
const image = { kind: 'image', reference: imageNames.bare } as const;
const authored = 'corral.local/authored:test';

let cluster: Cluster;
let folder: string;
beforeAll(async () => {
  cluster = await clusterOfTest();
  folder = await mkdtemp(join(tmpdir(), 'corral-test-images-'));
  const built = [await buildImage('bare'), await buildImage('sandboxd')].map(({ archive }) => archive);
  const own = join(folder, 'authored.tar');
  const base = await bareImage(defaultCacheDir());
  await writeArchive({ name: authored, layers: [...base.layers, layer(foreign)], config: said }, own);
  for (const node of cluster.nodes) await importImages(node, [...built, own]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A C library under the names that ours has, which is no library at all: who loads it, dies. */
const foreign: readonly Entry[] = [
  'lib64/ld-linux-x86-64.so.2',
  'lib/x86_64-linux-gnu/libc.so.6',
  'usr/lib/libstdc++.so.6',
].map((path) => ({ kind: 'text', path, mode: 0o755, text: 'not an ELF file' }));

const said = {
  Entrypoint: ['/bin/false'],
  Env: ['PATH=/bin', 'MODEL=tiny', 'LD_LIBRARY_PATH=/lib/x86_64-linux-gnu', 'PRICE=5$'],
  WorkingDir: '/tmp/work',
};

describe('a sandbox in an image of busybox alone', () => {
  test('runs commands as an ordinary user, who reaches neither sandboxd nor the API server', async () => {
    await using sandbox = await startPodSandbox(cluster, { image });
    expect(await sandbox.sh('id -u; id -g; pwd; echo $HOME')).toBe('1000\n1000\n/workspace\n/workspace\n');
    expect(await sandbox.sh('env')).not.toMatch(/CORRAL_|KUBERNETES_/);
    expect(await sandbox.sh('ls /var/run/secrets /run/secrets')).not.toContain('kubernetes');
    const daemon = await sandbox.sh("ps -o pid,args | awk '/sandboxd\\/main/ && !/awk/ { print $1 }'");
    expect(await sandbox.sh(`kill -9 ${daemon.trim()}`)).toContain('not permitted');
    expect(await sandbox.sh(`cat /proc/${daemon.trim()}/environ`)).toContain('Permission denied');
  });

  test("keeps a grader's folder from the policy, in what was an ordinary empty volume", async () => {
    await using sandbox = await startPodSandbox(cluster, { image });
    await sandbox.sh('mkdir /tmp/grader && echo secret > /tmp/grader/answer', 'grader');
    expect(await sandbox.sh('cat /tmp/grader/answer')).toContain('Permission denied');
    expect(await sandbox.sh('mv /tmp/grader /tmp/mine')).toContain('not permitted');
    await sandbox.sh('echo 1 > left');
    expect(await sandbox.sh('echo 2 >> left; cat left', 'grader')).toBe('1\n2\n');
  });

  test('leaves no zombie of what a command left behind', async () => {
    await using sandbox = await startPodSandbox(cluster, { image });
    await sandbox.sh('for i in 1 2 3 4 5; do (sleep 0.1 &) ; done; sleep 0.5');
    expect(await sandbox.sh("ps -o stat,args | grep '^Z' | wc -l")).toBe('0\n');
  });

  test.each([
    ['root', { runAs: 'root' } as const, '0\n'],
    ['one ordinary id', { uid: 'single' } as const, '1000\n'],
  ])('runs commands as %s where the environment says so', async (_, given, uid) => {
    await using sandbox = await startPodSandbox(cluster, { image, ...given });
    expect(await sandbox.sh('id -u; touch file && echo written')).toBe(`${uid}written\n`);
  });

  test('gets sandboxd from an init container where the image has none', async () => {
    const sandboxd = { kind: 'init_container', image: imageNames.sandboxd } as const;
    await using sandbox = await startPodSandbox(cluster, { image }, { sandboxd });
    expect(await sandbox.sh('mount | grep -c "/opt/corral .*ro,"; touch /opt/corral/x')).toMatch(
      /^1\n.*Read-only/s,
    );
  });
});

test("an author's image keeps its WORKDIR, ENV and libraries; its ENTRYPOINT is not run", async () => {
  await using sandbox = await startPodSandbox(cluster, {
    image: { kind: 'image', reference: authored },
    runAs: 'root',
    env: { ADDED: '$(MODEL)' },
    placement: { ...anyPlace, nodeSelector: { 'kubernetes.io/hostname': 'n1' } },
  });
  expect(await sandbox.sh('pwd; echo "$MODEL $PRICE $LD_LIBRARY_PATH $ADDED $PATH"')).toBe(
    '/tmp/work\ntiny 5$ /lib/x86_64-linux-gnu $(MODEL) /bin\n',
  );
});
