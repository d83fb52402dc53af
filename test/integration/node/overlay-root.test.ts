import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sandboxId } from '#src/model/ids.ts';
import type { Template } from '#src/model/environment.ts';
import { addProgram, busyboxRoot } from '#test/support/busybox-root.ts';
import { goInside, type Inside } from '#test/support/inside.ts';
import { expectNothingLeft } from '#test/support/left-behind.ts';
import { recordEvents } from '#test/support/provider-events.ts';
import { startNodeProcess, testTemplate, type TestNode } from '#test/support/sandboxes.ts';
import { withoutShiftedOwners } from '#test/support/without-shifted-owners.ts';

const mebibyte = 1024 * 1024;

let node: TestNode;
let folder: string;
let root: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-overlay-'));
  await chmod(folder, 0o755);
  root = await taskRoot('task');
  node = await startNodeProcess();
});
afterAll(async () => {
  await node.stop();
  await rm(folder, { recursive: true });
  await expectNothingLeft(node.stateFolder);
});

/** An image as tasks have it: a home, a folder of the task, `git` and a repository, all with their owners. */
async function taskRoot(name: string): Promise<string> {
  const path = join(folder, name);
  await busyboxRoot(path, 'task\n');
  await addProgram(path, '/usr/bin/git');
  for (const each of ['etc', 'homes/dev/notes', 'app/src', 'var/tmp', 'root', 'workspace', 'tmp'])
    await mkdir(join(path, each), { recursive: true });
  const files = {
    'etc/passwd': 'root:x:0:0::/root:/bin/sh\ndev:x:1000:1000::/homes/dev:/bin/sh\n',
    'homes/dev/notes/given.txt': 'given\n',
    'app/src/main.py': 'print(1)\n',
    'workspace/read.me': 'of the image\n',
    'tmp/seed': 'seed\n',
    'root/secret': 'of root\n',
  };
  for (const [file, text] of Object.entries(files)) await writeFile(join(path, file), text);
  await chmod(join(path, 'var/tmp'), 0o1777);
  await chmod(join(path, 'root'), 0o700);
  await chmod(join(path, 'root/secret'), 0o600);
  for (const each of ['homes/dev', 'app']) {
    await makeRepository(join(path, each));
    if (each === 'homes/dev') execFileSync('chown', ['-R', '1000:1000', join(path, each)]);
  }
  return path;
}

async function makeRepository(path: string): Promise<void> {
  const git = (...args: readonly string[]) => execFileSync('git', ['-C', path, ...args]);
  git('init', '--quiet');
  git('add', '.');
  git('-c', 'user.name=x', '-c', 'user.email=x@example.com', 'commit', '--quiet', '-m', 'first');
}

const enter = (changes: Partial<Template> = {}, path = root) =>
  goInside(node, { image: { kind: 'rootfs', path }, ...changes });

async function said(inside: Inside, script: string): Promise<string> {
  const { stdout, stderr } = await inside.sh(script);
  return `${stdout.head}${stderr.head}`.trimEnd();
}

describe('a root that commands may write', () => {
  let inside: Inside;
  beforeAll(async () => (inside = await enter({ folders: ['/app'] })));
  afterAll(() => inside.leave());

  it('is one file system, so files are renamed and linked between its folders', async () => {
    const moved = `set -e; cd /tmp; echo words > f; before=$(busybox stat -c %i f); busybox mv f /workspace/f
      busybox ln /workspace/f /var/tmp/f; busybox ln /var/tmp/f /homes/dev/f
      [ $before = $(busybox stat -c %i /homes/dev/f) ] && busybox stat -c %h /workspace/f
      busybox stat -c %d / /tmp /workspace /var/tmp /homes/dev /app /bin/busybox /tmp/seed /workspace/f /etc/hosts | busybox uniq | busybox wc -l`;
    expect(await said(inside, moved)).toBe('3\n1');
  });

  it('has what the image has in the workspace, in /tmp and in the folders of the template', async () => {
    expect(
      await said(inside, 'cat /workspace/read.me /tmp/seed /app/src/main.py; echo > /app/new; pwd'),
    ).toBe('of the image\nseed\nprint(1)\n/workspace');
  });

  it('is owned as in the image, so git takes its repositories', async () => {
    const looks =
      'busybox stat -c %u:%g /homes/dev /root /bin/busybox; cd /homes/dev && git log --format=%s; git status -s';
    expect(await said(inside, looks)).toBe('1000:1000\n0:0\n0:0\nfirst\n?? f');
  });

  it('a folder of the image is renamed in one step', async () => {
    const before = await said(inside, 'busybox stat -c %i /homes/dev/notes');
    const after = 'cd /homes/dev && git mv notes kept && busybox stat -c %i kept && cat kept/given.txt';
    expect(await said(inside, after)).toBe(`${before}\ngiven`);
  });

  it('what belongs to root stays closed', async () => {
    const tries = [
      'echo > /etc/new',
      'echo >> /etc/passwd',
      'busybox rm /bin/busybox',
      'echo > /bin/new',
      'busybox mkdir /new',
      'cat /root/secret',
    ];
    for (const each of tries)
      expect(await said(inside, `(${each}) 2>&1`), each).toMatch(/[Pp]ermission denied/);
  });

  it('commands have no capability and cannot change their root', async () => {
    const sets = await said(
      inside,
      'busybox grep -E "^Cap(Prm|Eff|Amb)" /proc/self/status | busybox cut -f 2 | busybox sort -u',
    );
    expect(sets).toBe('0000000000000000');
    expect(await said(inside, 'busybox chroot / /bin/true')).toContain('not permitted');
  });

  it('can never gain more than a container’s', async () => {
    for (const runAs of ['user', 'root'] as const) {
      const other = await enter({ runAs });
      expect(await said(other, 'busybox grep -E "^Cap(Bnd|Inh)" /proc/self/status')).toBe(
        'CapInh:\t0000000000000000\nCapBnd:\t00000000a80425fb',
      );
      await other.leave();
    }
  });

  it('its changes reach neither the image nor a neighbor', async () => {
    await inside.sh('busybox rm -r /homes/dev/kept; echo mine > /tmp/mine; echo mine > /homes/dev/mine');
    const neighbor = await enter();
    expect(await said(neighbor, 'busybox ls /tmp /homes/dev; cat /homes/dev/notes/given.txt')).toBe(
      '/homes/dev:\nnotes\n\n/tmp:\nseed\ngiven',
    );
    await neighbor.leave();
    expect(await readdir(join(root, 'homes/dev'))).toEqual(['.git', 'notes']);
    expect(existsSync(join(root, '.corral'))).toBe(false);
  });

  it('has one disk limit for all of it, and a full disk ends no sandbox', async () => {
    const small = await enter({ diskBytes: 8 * mebibyte });
    const fill = 'busybox dd if=/dev/zero of=/var/tmp/all bs=1M count=16 2>&1';
    expect(await said(small, fill)).toContain('No space left');
    for (const place of ['/tmp/x', '/workspace/x', '/homes/dev/x'])
      expect(await said(small, `echo words > ${place}`), place).toContain('No space left');
    expect(await said(small, 'busybox rm /var/tmp/all; echo fine > /workspace/x; cat /workspace/x')).toBe(
      'fine',
    );
    await small.leave();
  });
});

describe('commands that are root of such a sandbox', () => {
  it('may write everywhere, give files away, and take away what the image has', async () => {
    const inside = await enter({ runAs: 'root' });
    const script = `set -e; echo "task:x:1005:1005::/:/bin/sh" >> /etc/passwd; busybox grep -c . /etc/passwd
      cat /root/secret; echo new > /bin/new; echo new > /homes/dev/new; busybox chown 1005:1005 /homes/dev/new /bin/busybox
      busybox stat -c %U /homes/dev/new; busybox rm -r /app/src; busybox mv /homes /house; busybox ls / /house/dev
      cd /app; git status -s; busybox cat /etc/hostname`;
    const folders = 'app bin dev etc house lib lib64 proc root sys task tmp usr var workspace';
    const words = `3 of root task /: ${folders} /house/dev: new notes D src/main.py ${inside.sandbox}`;
    expect((await said(inside, script)).split(/\s+/).join(' ')).toBe(words);
    await inside.leave();
  });

  it('meet nothing of Corral’s in the folders that installers take, and can move, own and remove these', async () => {
    const inside = await enter({ runAs: 'root' });
    const script = `set -e; busybox mkdir -p /opt/app /run/app; echo x > /opt/app/f
      busybox chown -R 8:8 /opt /run; busybox chmod -R u+rwX,go+rX /opt /run; busybox tar cf /tmp/all.tar /opt /run 2> /dev/null
      busybox cp -a /opt /tmp/copy; busybox du -s /tmp/copy | busybox cut -f 1; busybox rm -rf /opt/* /run/*
      busybox mv /opt /opt.old; busybox mv /run /run.old; busybox mkdir /opt /run; busybox ls -A /opt /run`;
    expect(await said(inside, script)).toMatch(/^\d{1,2}\n\/opt:\n\n\/run:$/);
    expect(await said(inside, 'echo heard')).toBe('heard');
    await inside.leave();
  });

  it('can neither move nor change what their sandbox runs on, and walks of one file system stay out of it', async () => {
    const inside = await enter({ runAs: 'root' });
    const moves =
      'cd /; busybox mv .corral x; for each in payload grader daemon; do busybox mv .corral/$each .corral/x; busybox rmdir .corral/$each; done';
    expect(await said(inside, moves)).toMatch(/^(.*([Bb]usy|Read-only).*\n?){7}$/);
    expect(await said(inside, 'busybox rm -rf /.corral 2> /dev/null; busybox ls -A /.corral')).toBe(
      'daemon\ngrader\npayload',
    );
    expect(await said(inside, 'busybox find / -xdev | busybox grep corral')).toBe('/.corral');
    const walk = 'busybox find /.corral -maxdepth 2 -not -path "*/payload/*" | busybox sort';
    expect(await said(inside, walk)).toBe(
      '/.corral\n/.corral/daemon\n/.corral/daemon/d.sock\n/.corral/grader\n/.corral/payload',
    );
    await inside.leave();
  });

  it('have the accounts of the image, and services confine themselves', async () => {
    const inside = await enter({ runAs: 'root' });
    const accounts = 'root:x:0:0::/root:/bin/sh\ndev:x:1000:1000::/homes/dev:/bin/sh';
    expect(await said(inside, 'busybox cat /etc/passwd')).toBe(accounts);
    const confined = 'busybox mkdir /jail; busybox cp /bin/busybox /jail; busybox chroot /jail /busybox ls /';
    expect(await said(inside, confined)).toBe('busybox');
    await inside.leave();
  });
});

it('to change the owner or the mode of a file of the image does not copy it', async () => {
  const path = await taskRoot('large');
  await writeFile(join(path, 'app/large'), Buffer.alloc(16 * mebibyte, 'x'));
  const inside = await enter({ runAs: 'root', diskBytes: 8 * mebibyte }, path);
  const script =
    'busybox chown -R 1000:1000 /app; busybox chmod 600 /app/large; busybox stat -c "%u %a %s" /app/large; busybox tail -c 1 /app/large';
  expect(await said(inside, script)).toBe(`1000 600 ${16 * mebibyte}\nx`);
  await inside.leave();
});

describe('an image that is odd', () => {
  it('whose files all belong to id 1000, or are open to all: what sandboxd relies on is closed, and the rest is as in the image', async () => {
    const open = await taskRoot('open');
    execFileSync('chown', ['-R', '1000:1000', open]);
    for (const each of ['opt', 'run']) await mkdir(join(open, each));
    for (const each of ['', 'opt', 'run', 'etc']) await chmod(join(open, each), 0o777);
    const inside = await enter({}, open);
    for (const each of ['/', '/etc', '/.corral', '/.corral/grader'])
      expect(await said(inside, `echo > ${each}/x`), each).toMatch(/Permission denied|Read-only/);
    const moves =
      'cd /.corral; busybox mv /.corral /x; for each in payload grader daemon; do busybox mv $each x; done';
    expect(await said(inside, moves)).toMatch(/^(.*(Permission denied|busy|Read-only).*\n?){4}$/);
    const ofImage = 'for each in bin opt run; do echo new > /$each/new; busybox cat /$each/new; done';
    expect(await said(inside, ofImage)).toBe('new\nnew\nnew');
    await inside.leave();
  });

  it.each([
    ['/sys', 'link'],
    ['/tmp', 'file'],
  ])('whose %s is a %s fails the start, and says why', async (place, kind) => {
    const odd = join(folder, `odd-${kind}`);
    await busyboxRoot(odd, '');
    await (kind === 'link' ? symlink('/task', join(odd, place)) : writeFile(join(odd, place), ''));
    const sandbox = sandboxId(`s-odd-${kind}`);
    const events = recordEvents(node.provider);
    const template = testTemplate({ image: { kind: 'rootfs', path: odd } });
    await node.provider.create({ sandbox, template, tokenSha256: 'a'.repeat(64) });
    const { evidence } = await events.of(sandbox, 'gone');
    expect(evidence['lastWords']).toContain(`${place} is a ${kind} in the sandbox's root`);
    await events.stop();
  });

  it('that is on a file system without shifted owners has a read-only root, as before', async () => {
    const other = join(folder, 'on-overlay');
    using _mounted = withoutShiftedOwners(root, other);
    const inside = await enter({}, other);
    expect(await said(inside, 'echo > /homes/dev/x; echo fine > /workspace/x; busybox ls /workspace')).toBe(
      "x\nsh: can't create /homes/dev/x: Read-only file system",
    );
    await inside.leave();
  });
});

describe('an image with nothing but a shell', () => {
  it('gets a home and /var/tmp, which commands write, and of /sys its own limits', async () => {
    const bare = join(folder, 'bare');
    await busyboxRoot(bare, '');
    const inside = await enter({}, bare);
    const places =
      'cd; pwd; busybox stat -c "%u %a" . /var/tmp; echo x > f; busybox ln f /var/tmp/f && busybox ls /var/tmp';
    expect(await said(inside, places)).toBe('/home/policy\n1000 700\n0 1777\nf');
    expect(
      await said(
        inside,
        'cd /sys; echo * devices/system/*; echo > /sys/x; busybox cat fs/cgroup/memory*/memory.limit_in_bytes fs/cgroup/memory.max 2>/dev/null',
      ),
    ).toBe(
      `devices fs devices/system/cpu\n${testTemplate().memory.limitBytes}\nsh: can't create /sys/x: Read-only file system`,
    );
    await inside.leave();
    expect(await readdir(bare)).toEqual(['bin', 'task']);
  });
});

it('commands own what the USER of the image owns, whatever its ids are', async () => {
  const path = await taskRoot('of-user');
  await writeFile(
    join(path, 'etc/passwd'),
    'app:x:33:44::/srv/app:/bin/sh\nold:x:1000:1000::/homes/dev:/bin/sh\n',
  );
  await writeFile(`${path}.config.json`, JSON.stringify({ User: 'app' }));
  await mkdir(join(path, 'srv/app'), { recursive: true });
  await chown(join(path, 'srv/app'), 33, 44);
  const inside = await enter({}, path);
  const script =
    'cd; echo new > new; busybox stat -c "%U %u %g %n" /srv/app new /homes/dev; echo > /homes/dev/x';
  expect(await said(inside, script)).toBe(
    `app 1000 1000 /srv/app\napp 1000 1000 new\nold 33 44 /homes/dev\nsh: can't create /homes/dev/x: Permission denied`,
  );
  await inside.leave();
});

it('the owner of a folder of the image is kept where something is mounted in it', async () => {
  const data = [{ source: join(root, 'app'), target: '/homes/dev/notes/data' }];
  const path = await taskRoot('with-data');
  await chown(join(path, 'homes/dev/notes'), 1000, 1000);
  await chmod(join(path, 'homes/dev/notes'), 0o750);
  const inside = await enter({ data }, path);
  expect(
    await said(inside, 'cd /homes/dev/notes; busybox stat -c "%u %a" .; busybox ls; cat data/src/main.py'),
  ).toBe('1000 750\ndata\ngiven.txt\nprint(1)');
  await inside.leave();
});
