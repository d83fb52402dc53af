import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { goInside, type Inside } from '#test/support/inside.ts';
import { expectNothingLeft } from '#test/support/left-behind.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

const mebibyte = 1024 * 1024;

describe('inside a sandbox of a node that is root', () => {
  let node: TestNode;
  let inside: Inside;
  let data: string;

  beforeAll(async () => {
    node = await startNodeProcess();
    data = await mkdtemp(join(tmpdir(), 'corral-data-'));
    await chmod(data, 0o755);
    await writeFile(join(data, 'corpus.txt'), 'words\n', { mode: 0o644 });
    inside = await goInside(node, {
      diskBytes: 8 * mebibyte,
      memory: { requestBytes: 64 * mebibyte, limitBytes: 128 * mebibyte },
      processes: 40,
      env: { GREETING: 'hello there', HIDDEN: 'only-inside-3141' },
      data: [
        { source: data, target: '/usr/share/corpus/deep' },
        { source: data, target: '/data' },
      ],
      folders: ['/logs/verifier', '/srv/app'],
    });
  });
  afterAll(async () => {
    await inside.leave();
    await node.stop();
    await rm(data, { recursive: true, force: true });
    await expectNothingLeft(node.stateFolder);
  });

  const output = async (script: string) => (await inside.sh(script)).stdout.head.trim();

  it('commands are the policy user, with a name, in a workspace of their own', async () => {
    expect(await output('id -un; pwd; touch file && ls')).toBe('policy\n/workspace\nfile');
  });

  it("the template's environment is there, and sandboxd's is not", async () => {
    expect(await output('echo $GREETING; env | grep -c CORRAL')).toBe('hello there\n0');
  });

  it('the host name is the sandbox id', async () => {
    expect(await output('uname -n')).toBe(inside.sandbox);
  });

  it('there is no network but the loopback', async () => {
    expect(await output('tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "')).toBe('lo');
  });

  it('no process of the host or of another sandbox is seen', async () => {
    expect(await output('ls -d /proc/[0-9]* | wc -l')).toMatch(/^[3-9]$/);
  });

  it('nothing but the workspace, the temporary folders and the home can be written', async () => {
    const script =
      'for f in / /usr /etc /.corral /.corral/payload /data /home /var /sys /sys/fs/cgroup /run /.corral/daemon /dev; do touch $f/x 2>/dev/null && echo $f; done; touch /tmp/x';
    expect(await inside.sh(script)).toMatchObject({
      ending: { kind: 'exited', exitCode: 0 },
      stdout: { head: '' },
    });
  });

  it("the host's accounts, homes and services are not there", async () => {
    expect(await output('ls -d /root /etc/shadow /etc/ssl/private 2>/dev/null; ls /home /var')).toBe(
      '/home:\npolicy\n\n/var:\ntmp',
    );
  });

  it('data folders are where the template says, also inside a folder of the root', async () => {
    expect(
      await output('cat /data/corpus.txt /usr/share/corpus/deep/corpus.txt; ls /usr/share | wc -l'),
    ).toMatch(/^words\nwords\n\d{2,}$/);
  });

  it('the template’s own folders are the policy’s to write, beside nothing else, and closed to others', async () => {
    expect(await output('ls -A /logs/verifier /srv/app; stat -c "%a %U" /logs/verifier /srv/app')).toBe(
      '/logs/verifier:\n\n/srv/app:\n770 policy\n770 policy',
    );
    expect(await output('echo 1 > /logs/verifier/reward.txt && cat /logs/verifier/reward.txt')).toBe('1');
    expect(await output('touch /logs/x /srv/x 2>/dev/null || echo refused')).toBe('refused');
  });

  it('a disk on top of the memory leaves it to programs, and shared memory has the size of the template', async () => {
    const memory = { requestBytes: 96 * mebibyte, limitBytes: 96 * mebibyte };
    const apart = { memory, diskBytes: 192 * mebibyte, diskApart: true, shmBytes: 80 * mebibyte } as const;
    const inside = await goInside(node, apart);
    const file = await inside.sh('head -c 160M /dev/zero > file && head -c 40M /dev/zero | tail | wc -c');
    expect(file).toMatchObject({ evidence: { outOfMemoryKills: 0 }, stdout: { head: `${40 * mebibyte}\n` } });
    expect(await inside.sh('rm file; head -c 70M /dev/zero > /dev/shm/file && echo held')).toMatchObject({
      stdout: { head: 'held\n' },
    });
    expect((await inside.sh('head -c 20M /dev/zero > /dev/shm/more')).stderr.head).toContain('No space left');
    expect((await inside.sh('rm /dev/shm/*; head -c 200M /dev/zero > file')).stderr.head).toContain(
      'No space left',
    );
    await inside.leave();
  });

  it('workspace, /tmp and the template’s folders share one disk limit', async () => {
    const { stderr, stdout } = await inside.sh(
      'head -c 6M /dev/zero > /workspace/a; head -c 6M /dev/zero > /tmp/b; rm /tmp/b; head -c 6M /dev/zero > /srv/app/c; stat -c %s /workspace/a; rm /workspace/a /srv/app/c',
    );
    expect(stderr.head.match(/No space left/g)).toHaveLength(2);
    expect(stdout.head.trim()).toBe(String(6 * mebibyte));
  });

  it('a command that takes more memory than the sandbox has is killed alone', async () => {
    const { evidence } = await inside.sh('head -c 400M /dev/zero | tail');
    expect(evidence.outOfMemoryKills).toBeGreaterThan(0);
    expect(await output('echo still here')).toBe('still here');
  });

  it('a fork bomb meets the limit of processes and the sandbox stays usable', async () => {
    await inside.sh('for i in $(seq 300); do sleep 30 & done; wait $!');
    await inside.sh('kill -9 -1');
    expect(await output('echo still here')).toBe('still here');
  });

  it("the template's environment is in no command line of the host", async () => {
    const { init } = JSON.parse(
      await readFile(join(node.stateFolder, 'sandboxes', inside.sandbox, 'record.json'), 'utf8'),
    ) as { init: { pid: number } };
    const line = await readFile(`/proc/${init.pid}/cmdline`, 'utf8');
    expect(line).toMatch(/^\S*bwrap\0/);
    expect(line).not.toContain('only-inside-3141');
  });
});

describe('a sandbox whose commands run as root', () => {
  it("cannot write the host's kernel settings nor its root", async () => {
    const node = await startNodeProcess();
    const inside = await goInside(node, { runAs: 'root' });
    const { stdout } = await inside.sh(
      'id -u; for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /usr/x /etc/x /.corral/payload/x; do (echo x > $f) 2>/dev/null && echo $f; done; touch /workspace/y && echo ok',
    );
    await inside.leave();
    await node.stop();
    expect(stdout.head.trim()).toBe('0\nok');
  });
});

describe('a sandbox that takes more than it has', () => {
  it('by files that fill its memory, is told as out_of_memory and not as killed', async () => {
    const node = await startNodeProcess();
    const inside = await goInside(node, {
      diskBytes: 256 * mebibyte,
      memory: { requestBytes: 64 * mebibyte, limitBytes: 96 * mebibyte },
    });
    // The command dies first, what it wrote stays: then the kernel has only the daemon left to take.
    const fill = () => inside.sh('head -c 200M /dev/zero >> /workspace/full');
    const filled = (async () => {
      for (let tries = 0; tries < 50; tries += 1) await fill();
    })().catch(() => 'gone');
    const gone = await inside.events.of(inside.sandbox, 'gone');
    expect(gone).toMatchObject({ cause: 'out_of_memory', evidence: { signal: 'SIGKILL' } });
    expect(await filled).toBe('gone');
    await inside.leave();
    await node.stop();
    await expectNothingLeft(node.stateFolder);
  });
});

describe('a sandbox from a folder of its own', () => {
  it('has that folder as its root, read-only, also when nothing but busybox is in it', async () => {
    const root = await mkdtemp(join(tmpdir(), 'corral-root-'));
    await chmod(root, 0o755);
    await mkdir(join(root, 'bin'));
    await copyFile('/bin/busybox', join(root, 'bin/busybox'));
    await symlink('busybox', join(root, 'bin/sh'));
    const node = await startNodeProcess();
    const inside = await goInside(node, { image: { kind: 'rootfs', path: root } });
    const { stdout } = await inside.sh(
      'busybox ls /bin; busybox touch /bin/x || echo read-only; echo > y && echo mine',
    );
    await inside.leave();
    await node.stop();
    await rm(root, { recursive: true });
    expect(stdout.head).toBe('busybox\nsh\nread-only\nmine\n');
  });
});
