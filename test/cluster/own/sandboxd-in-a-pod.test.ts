import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cluster } from '#infra/cluster/api.ts';
import { importImages } from '#infra/cluster/images/import.ts';
import { buildImage, defaultCacheDir } from '#infra/images/build.ts';
import { bareImage, imageNames } from '#infra/images/catalogue.ts';
import { layer } from '#infra/images/contents/tree.ts';
import { writeArchive } from '#infra/images/oci/archive.ts';
import type { Entry } from '#infra/images/oci/tar.ts';
import { anyPlace } from '#src/model/environment.ts';
import { callId } from '#src/model/ids.ts';
import type { LinkError } from '#src/ports/sandbox-link.ts';
import { formerPlaces, payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import { readTar } from '#src/protocol/sandboxd/tar.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { startPodSandbox } from '#test/support/pod-sandbox.ts';
import { aGrade } from '#test/support/sandboxd.ts';

/** The payload in real containers: every way in, every way to run, and images that are none of ours. */
const image = { kind: 'image', reference: imageNames.bare } as const;
const mebibyte = 1024 ** 2;
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
  for (const node of cluster.nodes) await importImages(cluster, node, [...built, own]);
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
    const daemon = await sandbox.sh('ps -o pid,comm | awk \'$2 == "sandboxd" { print $1 }\'');
    expect(await sandbox.sh(`kill -9 ${daemon.trim()}`)).toContain('not permitted');
    expect(await sandbox.sh(`cat /proc/${daemon.trim()}/environ`)).toContain('Permission denied');
  });

  test("has the template's folders, the policy's to write and closed to the grader", async () => {
    await using sandbox = await startPodSandbox(cluster, { image, folders: ['/logs/verifier', '/tests'] });
    const script = 'echo 1 > /logs/verifier/reward.txt; cat /logs/verifier/reward.txt; stat -c %a:%g /tests';
    expect(await sandbox.sh(script)).toBe('1\n770:1000\n');
    expect(await sandbox.sh('cat /logs/verifier/reward.txt', 'grader')).toContain('ermission denied');
  });

  test('has shared memory of the size that its task demands, in which each user keeps its own files', async () => {
    const memory = { requestBytes: 256 * mebibyte, limitBytes: 256 * mebibyte };
    await using sandbox = await startPodSandbox(cluster, { image, memory, shmBytes: 128 * mebibyte });
    expect(await sandbox.sh("stat -c %a /dev/shm; df -k /dev/shm | tail -1 | awk '{ print $2 }'")).toMatch(
      /^[13]777\n131072\n$/,
    );
    const fill =
      'dd if=/dev/zero of=/dev/shm/a bs=1M count=100 && dd if=/dev/zero of=/dev/shm/b bs=1M count=100';
    expect(await sandbox.sh(`${fill}; rm /dev/shm/b`)).toContain('No space left');
    await sandbox.sh('echo > /dev/shm/own', 'grader');
    expect(await sandbox.sh('rm /dev/shm/own')).toMatch(/not permitted/);
  });

  test("keeps a grader's folder from the policy, and the workspace from the grader, in what were ordinary empty volumes", async () => {
    await using sandbox = await startPodSandbox(cluster, { image });
    await sandbox.sh('echo secret > answer; pwd', 'grader');
    const own = '/.corral/grader/own';
    expect(await sandbox.sh(`cat ${own}/answer; ls ${own} /.corral/grader`)).not.toContain('secret');
    expect(await sandbox.sh(`mv /.corral/grader/own /.corral/grader/mine; mkdir /.corral/grader/x`)).toMatch(
      /denied[^]*denied/,
    );
    await sandbox.sh('echo 1 > left');
    expect(await sandbox.sh('cat "$CORRAL_WORKSPACE/left"', 'grader')).toContain('ermission denied');
  });

  test('grades where the policy never was: its own processes are dead, its programs run as itself, the score is read', async () => {
    await using sandbox = await startPodSandbox(cluster, { image });
    await sandbox.sh(
      "echo 'id -u; cat' > program; (setsid sleep 1000 &) ; (trap '' TERM; sleep 1000) & echo",
    );
    const command =
      'as-policy sh ./program > said; ps -o user,args | grep -c "[s]leep 1000" >> said; cat said; echo 0.5 > "$CORRAL_SCORE_FILE"';
    const grade = aGrade(command, { stdin: 'the answer' });
    const { link, target } = sandbox;
    const answer = await link.call(target, callId('grade'), grade, 30_000, AbortSignal.timeout(60_000));
    expect(answer).toMatchObject({ stdout: { head: '1000\n0\n' }, grade: { kind: 'ran', score: '0.5\n' } });
  });

  test('gives the files of a policy that stops all that is its own, and none that the kernel makes up', async () => {
    await using sandbox = await startPodSandbox(cluster, { image });
    const stops = "(setsid sh -c 'while :; do kill -STOP -1; done' > /dev/null 2>&1 &)";
    await sandbox.sh(`echo drawn > picture; ln -s /proc/1/mem memory; mkfifo pipe; ${stops}`);
    const { link, target } = sandbox;
    const read = async (path: string) => {
      const from = { path, user: 'policy', form: 'archive', mostBytes: 100_000 } as const;
      const tar = await link.getFile(target, from, AbortSignal.timeout(60_000));
      const texts = Array.fromAsync(readTar(tar), async ({ content }) =>
        Buffer.concat(await Array.fromAsync(content)).toString(),
      );
      return (await texts).join();
    };
    expect(await read('picture')).toBe('drawn\n');
    const errnoOf = (path: string) => read(path).catch((error: LinkError) => error.trouble);
    expect(await errnoOf('memory')).toMatchObject({
      code: 'file_error',
      errno: expect.not.stringMatching(/EIO/),
    });
    expect(await errnoOf('pipe')).toMatchObject({ code: 'file_error', errno: 'EINVAL' });
    expect(await errnoOf('/proc')).toMatchObject({ code: 'file_error', errno: 'ENODEV' });
  });

  test('600 idle connections from inside keep no gateway out', async () => {
    await using sandbox = await startPodSandbox(cluster, { image });
    const port = new URL(sandbox.target.address).port;
    // As the policy: each to the pod's own address or to loopback, none of them closed by it.
    const hold = `for (let i = 0; i < 600; i += 1)
        net.connect({ port: ${port}, host: i % 2 ? '127.0.0.1' : process.argv[1], allowHalfOpen: true })
          .on('connect', () => (opened += 1)).on('end', () => (closed += 1)).on('error', () => (closed += 1));
      var opened = 0, closed = 0;
      setInterval(() => {
        fs.writeFileSync('held.new', opened + ' opened, ' + closed + ' closed\\n');
        fs.renameSync('held.new', 'held');
      }, 100);`;
    const node = payloadNodeArgv(formerPlaces.payload).join(' ');
    await sandbox.sh(`(setsid ${node} -e "${hold}" $(hostname -i) > /dev/null 2>&1 &)`);
    const allSeen = 'for i in $(seq 40); do grep -qs "600 opened, 600 closed" held && break; sleep 0.2; done';
    // More at once than one connection, so that new ones are needed.
    const answers = await Promise.all([1, 2, 3, 4].map(() => sandbox.sh(`${allSeen}; sleep 0.5; cat held`)));
    expect(answers).toEqual(Array.from({ length: 4 }, () => '600 opened, 600 closed\n'));
  });

  test('runs commands with less right to the CPU than sandboxd has', async () => {
    await using sandbox = await startPodSandbox(cluster, { image });
    const daemon = await sandbox.sh('ps -o pid,comm | awk \'$2 == "sandboxd" { print $1 }\'');
    expect(await sandbox.sh(`cut -d ' ' -f 19 /proc/self/stat /proc/${daemon.trim()}/stat`)).toBe('10\n0\n');
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
    expect(await sandbox.sh('mount | grep -c " /.corral/payload .*ro,"; touch /.corral/payload/x')).toMatch(
      /^1\n.*Read-only/s,
    );
  });

  test('gets sandboxd from an image that the kubelet mounts, which nobody can write', async () => {
    const sandboxd = { kind: 'image_volume', image: imageNames.sandboxd } as const;
    await using sandbox = await startPodSandbox(cluster, { image }, { sandboxd });
    expect(await sandbox.sh('mount | grep -c " /.corral/payload .*ro,"; touch /.corral/payload/x')).toMatch(
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
