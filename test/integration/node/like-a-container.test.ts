import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Template } from '#src/model/environment.ts';
import { busyboxRoot } from '#test/support/busybox-root.ts';
import { goInside, type Inside } from '#test/support/inside.ts';
import { expectNothingLeft } from '#test/support/left-behind.ts';
import { startNodeProcess, testTemplate, type TestNode } from '#test/support/sandboxes.ts';
import { withoutShiftedOwners } from '#test/support/without-shifted-owners.ts';

/* What a program finds in every container, and so in every sandbox. `npm run test:parity` compares with a real container. */

let node: TestNode;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-container-'));
  await chmod(folder, 0o755);
  node = await startNodeProcess();
});
afterAll(async () => {
  await node.stop();
  await rm(folder, { recursive: true });
  await expectNothingLeft(node.stateFolder);
});

const saidBy = async (inside: Inside, script: string) => {
  const { stdout, stderr } = await inside.sh(script);
  return `${stdout.head}${stderr.head}`.trimEnd();
};

const asUsers = [['user'], ['root']] as const;

describe.each(asUsers)('a sandbox whose commands run as %s', (runAs) => {
  let inside: Inside;
  beforeAll(async () => void (inside = await goInside(node, { runAs })));
  afterAll(() => inside.leave());

  it('has its name in HOSTNAME, and a resolv.conf with a name server that answers nothing', async () => {
    expect(await saidBy(inside, 'echo $HOSTNAME; grep -v "^#" /etc/resolv.conf')).toBe(
      `${inside.sandbox}\nnameserver 192.0.2.1`,
    );
    expect(await saidBy(inside, `perl -e 'print gethostbyname("example.com") ? "found" : "not found"'`)).toBe(
      'not found',
    );
  });

  it('listens on port 80, and may send pings', async () => {
    const program = `use Socket; my ($web, $ping);
      socket($web, PF_INET, SOCK_STREAM, 0) && bind($web, pack_sockaddr_in(80, INADDR_ANY)) && print "port 80\\n" or print "$!\\n";
      socket($ping, PF_INET, SOCK_DGRAM, 1) && print "ping\\n" or print "$!\\n";`;
    expect(await saidBy(inside, `perl -e '${program}'`)).toBe('port 80\nping');
  });

  it('reads its own limits of memory and processors, and changes none', async () => {
    const { memory } = testTemplate();
    const script =
      'cd /sys/fs/cgroup; cat memory.max memory/memory.limit_in_bytes 2>/dev/null; find . -writable; find . -name corral';
    expect(await saidBy(inside, script)).toBe(String(memory.limitBytes));
  });

  it('has of /sys the processors, and nothing else', async () => {
    expect(
      await saidBy(
        inside,
        'cd /sys; echo * fs/* devices/* devices/system/*; [ -s devices/system/cpu/online ] && echo known',
      ),
    ).toBe('devices fs fs/cgroup devices/system devices/system/cpu\nknown');
  });

  it('has a home outside the workspace, which commands write, and /var/tmp', async () => {
    const home = runAs === 'root' ? '/root' : '/home/policy';
    expect(
      await saidBy(
        inside,
        'cd; pwd; stat -c "%a %u" . /var/tmp; touch f /var/tmp/f && rm f /var/tmp/f; ls -A',
      ),
    ).toBe(`${home}\n700 ${runAs === 'root' ? 0 : 1000}\n1777 0`);
  });

  it('has message queues by name', async () => {
    expect(
      await saidBy(
        inside,
        'stat -f -c %T /dev/mqueue; touch /dev/mqueue/q && ls /dev/mqueue; rm /dev/mqueue/q',
      ),
    ).toBe('mqueue\nq');
  });

  it('shows a program that looks for its own server none of Corral’s processes', async () => {
    const names = ['node', 'MainThread', 'server'];
    expect(
      await saidBy(inside, names.map((name) => `pgrep -fc "[${name[0]}]${name.slice(1)}"`).join('; ')),
    ).toBe('0\n0\n0');
    expect(await saidBy(inside, 'ps -e -o comm= | grep -c -e node -e MainThread')).toBe('0');
  });
});

describe('the workspace', () => {
  it('is closed to a grader where commands are another user, and open as in a container where they are root', async () => {
    const modes = [];
    for (const [runAs] of asUsers) {
      const inside = await goInside(node, { runAs });
      modes.push(await saidBy(inside, 'stat -c "%a %u" .'));
      await inside.leave();
    }
    expect(modes).toEqual(['770 1000', '755 0']);
  });
});

const inImage = (path: string, changes: Partial<Template> = {}) =>
  goInside(node, { image: { kind: 'rootfs', path }, ...changes });

describe('an image without a name for the commands’ id', () => {
  it('gets them, after its own', async () => {
    const root = join(folder, 'nameless');
    await busyboxRoot(root, '');
    await mkdir(join(root, 'etc'));
    await writeFile(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\nweb:x:33:33::/srv:/bin/sh');
    await writeFile(join(root, 'etc/group'), 'root:x:0:\n');
    const inside = await inImage(root);
    expect(await saidBy(inside, 'busybox id; echo $HOME; busybox cut -d: -f1,3 /etc/passwd')).toBe(
      'uid=1000(policy) gid=1000(policy)\n/home/policy\nroot:0\nweb:33\npolicy:1000\ngrader:1001\nqueries:1002',
    );
    const script = 'busybox id >&2; echo 1 > "$CORRAL_SCORE_FILE"';
    const grade = { kind: 'grade', turn: 1, files: {}, stdin: '', argv: ['/bin/sh', '-c', script] } as const;
    expect((await inside.run(grade)).stderr.head).toContain('uid=1001(grader)');
    await inside.leave();
  });
});

describe('an image with homes, whose root is read-only', () => {
  it('has its account’s home with the files that came with it, and leaves one closed that holds more', async () => {
    const root = join(folder, 'named');
    await busyboxRoot(root, '');
    for (const each of ['etc', 'home/dev', 'home/web/site'])
      await mkdir(join(root, each), { recursive: true });
    const homes = 'dev:x:1000:1000::/home/dev:/bin/sh\nweb:x:33:33::/home/web:/bin/sh\n';
    await writeFile(join(root, 'etc/passwd'), homes);
    await writeFile(join(root, 'home/dev/.profile'), 'of the image\n');
    const readOnly = join(folder, 'named-again');
    using _mounted = withoutShiftedOwners(root, readOnly);
    const inside = await inImage(readOnly);
    const script =
      'cd; pwd; cat .profile; echo more >> .profile && echo x > new && busybox ls -A; busybox stat -c "%a %U" .';
    expect(await saidBy(inside, script)).toBe('/home/dev\nof the image\n.profile\nnew\n750 dev');
    await inside.leave();
    await writeFile(`${readOnly}.config.json`, JSON.stringify({ User: 'web' }));
    const other = await inImage(readOnly);
    expect(await saidBy(other, 'cd; pwd; busybox ls; (echo > new) 2>/dev/null || echo closed')).toBe(
      '/home/web\nsite\nclosed',
    );
    await other.leave();
  });

  it('lets root read and write the home of root, whatever it holds', async () => {
    const root = join(folder, 'of-root');
    await busyboxRoot(root, '');
    await mkdir(join(root, 'root/tools'), { recursive: true, mode: 0o700 });
    await writeFile(join(root, 'root/tools/notes'), 'secret of root\n', { mode: 0o600 });
    const readOnly = join(folder, 'of-root-again');
    using _mounted = withoutShiftedOwners(root, readOnly);
    const inside = await inImage(readOnly, { runAs: 'root' });
    expect(
      await saidBy(
        inside,
        'cd; pwd; cat tools/notes; echo more >> tools/notes; busybox stat -c "%a %u" tools/notes',
      ),
    ).toBe('/root\nsecret of root\n600 0');
    await inside.leave();
  });
});
