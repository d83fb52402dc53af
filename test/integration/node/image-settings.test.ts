import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
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

/** What `docker inspect IMAGE` prints of it. */
const inspected = (Config: object) => JSON.stringify([{ Id: 'sha256:1', Config }]);
const config = {
  Env: ['PATH=/opt/tool/bin:/bin', 'GREETING=of the image', 'LD_PRELOAD=/no/such/library.so', 'LANG=C'],
  WorkingDir: '/app',
  User: 'dev',
};
const accounts = {
  passwd:
    'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\ndev:x:1005:1005::/home/dev:/bin/sh\n',
  group: 'root:x:0:\nnode:x:1000:\ndev:x:1005:\ndocker:x:998:dev\n',
};

let node: TestNode;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-images-'));
  await chmod(folder, 0o755);
  node = await startNodeProcess();
});
afterAll(async () => {
  await node.stop();
  await rm(folder, { recursive: true });
  await expectNothingLeft(node.stateFolder);
});

/** A root with `/app` and accounts; `etc` are more files of its /etc. */
async function rootCalled(name: string, etc: Readonly<Record<string, string>> = {}): Promise<string> {
  const root = join(folder, name);
  await busyboxRoot(root, 'task\n');
  for (const each of ['app', 'etc', 'opt/tool/bin']) await mkdir(join(root, each), { recursive: true });
  await symlink('/bin/busybox', join(root, 'opt/tool/bin/id'));
  await writeFile(join(root, 'app/given.txt'), 'given\n');
  for (const [file, text] of Object.entries({ ...accounts, ...etc }))
    await writeFile(join(root, 'etc', file), text);
  return root;
}

const inImage = (path: string, changes: Partial<Template> = {}) =>
  goInside(node, { image: { kind: 'rootfs', path }, ...changes });

const saidBy = async (inside: Inside, script: string) => (await inside.sh(script)).stdout.head.trimEnd();

const looks = {
  names: 'id -un; id -gn; id -u; id -g; id -Gn dev; echo $HOME; pwd',
  hosts: 'busybox cat /etc/hosts /etc/hostname; busybox ls /etc; busybox hostname',
};

it('a folder with a line break in its path never becomes the layers that its lines name', async () => {
  for (const each of ['broken', 'other']) await mkdir(join(folder, each));
  const path = await rootCalled(`broken\n${folder}/other`);
  const events = recordEvents(node.provider);
  const sandbox = sandboxId('line-break');
  const template = testTemplate({ image: { kind: 'rootfs', path } });
  await node.provider.create({ sandbox, template, tokenSha256: '0'.repeat(64) });
  const { evidence } = await events.of(sandbox, 'gone');
  expect(evidence['lastWords']).toContain('a line break is in');
  await events.stop();
});

describe('an image with its configuration next to it', () => {
  let root: string;
  let inside: Inside;
  beforeAll(async () => {
    root = await rootCalled('configured', { 'os-release': 'ID=tiny\n' });
    await writeFile(`${root}.config.json`, inspected(config));
    inside = await inImage(root);
  });
  afterAll(() => inside.leave());

  it('commands are its user, in its folder, with its variables', async () => {
    expect(await saidBy(inside, looks.names)).toBe(
      ['dev', 'dev', '1000', '1000', 'dev docker', '/home/dev', '/app'].join('\n'),
    );
    expect(await saidBy(inside, 'echo $GREETING; echo $LANG; echo $PATH; cat given.txt')).toBe(
      'of the image\nC\n/opt/tool/bin:/bin\ngiven',
    );
  });

  it('built-in tools find relative paths there too', async () => {
    const { stdout } = await inside.run({
      kind: 'builtin',
      tool: 'read_file',
      arguments: { path: 'given.txt' },
    });
    expect(stdout.head).toBe('given\n');
  });

  it('sandboxd has none of its variables', () => {
    const record = readFileSync(join(node.stateFolder, 'sandboxes', inside.sandbox, 'record.json'), 'utf8');
    const { init } = JSON.parse(record) as { init: { pid: number } };
    const children = readFileSync(`/proc/${init.pid}/task/${init.pid}/children`, 'utf8').trim().split(' ');
    const variables = children.flatMap((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0'));
    expect(variables).toContain('CORRAL_WORKSPACE=/app');
    expect(variables.filter((each) => /^(?:LD_PRELOAD|GREETING)=/.test(each))).toEqual([]);
  });

  it('files are made as in a container: for others to read, and not for the group to write', async () => {
    expect(
      await saidBy(inside, 'cd /tmp && echo > f && busybox mkdir d && busybox stat -c %a f d; umask'),
    ).toBe('644\n755\n0022');
  });

  it('the environment’s own variables are above the image’s', async () => {
    const other = await inImage(root, { env: { GREETING: 'ours', HOME: '/tmp' } });
    expect(await saidBy(other, 'echo $GREETING; echo $HOME; echo $PATH')).toBe(
      'ours\n/tmp\n/opt/tool/bin:/bin',
    );
    await other.leave();
  });

  it('as root commands have the home of root', async () => {
    const other = await inImage(root, { runAs: 'root' });
    expect(await saidBy(other, 'id -un; echo $HOME; pwd')).toBe('root\n/root\n/app');
    await other.leave();
  });

  it('a grader finds the image’s language, and nothing else of it', async () => {
    const grade = { kind: 'grade', turn: 1, files: {}, stdin: '' } as const;
    const script = 'echo "$LANG $GREETING. $CORRAL_WORKSPACE" >&2; echo 1 > "$CORRAL_SCORE_FILE"';
    const { stderr, grade: turn } = await inside.run({ ...grade, argv: ['/bin/sh', '-c', script] });
    expect(turn).toMatchObject({ kind: 'ran', score: '1\n' });
    expect(stderr.head).toBe('C . /app\n');
  });
});

describe('an image without a configuration', () => {
  it('has its accounts and their home, and works in the workspace', async () => {
    const inside = await inImage(await rootCalled('bare'));
    expect(await saidBy(inside, 'busybox id -un; echo $HOME; pwd; echo $LANG')).toBe(
      'node\n/home/node\n/workspace\nC.UTF-8',
    );
    await inside.leave();
  });

  it('that comes later is read by the next start', async () => {
    const root = await rootCalled('later');
    await writeFile(`${root}.config.json`, JSON.stringify({ config: { WorkingDir: '/app' } }));
    const first = await inImage(root);
    await writeFile(`${root}.config.json`, JSON.stringify({ WorkingDir: '/opt', User: 'root' }));
    const second = await inImage(root);
    expect([await saidBy(first, 'pwd'), await saidBy(second, 'pwd; echo $HOME')]).toEqual([
      '/app',
      '/opt\n/home/node',
    ]);
    await first.leave();
    await second.leave();
  });
});

describe('a configuration that cannot be used', () => {
  it.each([
    ['broken', 'no json', 'corral image unpack'],
    ['stranger', inspected({ User: 'stranger' }), 'User "stranger"'],
  ])('fails the start and says why: %s', async (name, text, words) => {
    const root = await rootCalled(name);
    await writeFile(`${root}.config.json`, text);
    const sandbox = sandboxId(`s-${name}`);
    const events = recordEvents(node.provider);
    const template = testTemplate({ image: { kind: 'rootfs', path: root } });
    await node.provider.create({ sandbox, template, tokenSha256: 'a'.repeat(64) });
    const { evidence } = await events.of(sandbox, 'gone');
    expect(evidence['lastWords']).toContain(words);
    await events.stop();
  });
});

const hostsOf = (inside: Inside) =>
  `127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.0.1 ${inside.sandbox}\n${inside.sandbox}\n`;

describe('the names that a sandbox knows', () => {
  it.each([
    [
      'lacks hosts',
      { 'os-release': 'x' },
      ['group', 'hostname', 'hosts', 'os-release', 'passwd', 'resolv.conf'],
    ],
    [
      'has them empty, as docker export leaves them',
      { hosts: '', hostname: '', 'resolv.conf': '' },
      ['group', 'hostname', 'hosts', 'passwd', 'resolv.conf'],
    ],
  ])('are those of its own in an image that %s', async (name, etc, names) => {
    const root = await rootCalled(`hosts-${names.length}`, etc);
    const inside = await inImage(root);
    expect(await saidBy(inside, looks.hosts), name).toBe(
      `${hostsOf(inside)}${names.join('\n')}\n${inside.sandbox}`,
    );
    expect(await readdir(join(root, 'etc'))).toHaveLength(2 + Object.keys(etc).length);
    await inside.leave();
  });

  it('are there in an image without /etc', async () => {
    const root = join(folder, 'no-etc');
    await busyboxRoot(root, '');
    const inside = await inImage(root);
    expect(await saidBy(inside, looks.hosts)).toBe(
      `${hostsOf(inside)}group\nhostname\nhosts\npasswd\nresolv.conf\n${inside.sandbox}`,
    );
    await inside.leave();
  });

  it('are there in an image that lacks hosts, and in whose /etc the template mounts something', async () => {
    const root = await rootCalled('hosts-and-data', { 'os-release': 'x' });
    const data = [{ source: join(root, 'app'), target: '/etc/deep/app' }];
    const inside = await inImage(root, { data });
    expect(await saidBy(inside, 'cat /etc/deep/app/given.txt')).toBe('given');
    expect(await saidBy(inside, looks.hosts)).toBe(
      `${hostsOf(inside)}deep\ngroup\nhostname\nhosts\nos-release\npasswd\nresolv.conf\n${inside.sandbox}`,
    );
    await inside.leave();
  });

  it('lead to the loopback beside this machine’s programs', async () => {
    const inside = await goInside(node);
    const script = 'getent hosts localhost ::1 $(cat /etc/hostname) | tr -s " "; hostname -f';
    expect(await saidBy(inside, script)).toBe(
      `::1 localhost ip6-localhost ip6-loopback\n::1 localhost ip6-localhost ip6-loopback\n127.0.0.1 ${inside.sandbox}\n${inside.sandbox}`,
    );
    await inside.leave();
  });
});

const inShell = (text: string, stdin?: string) =>
  ({
    kind: 'exec',
    argv: ['sh', '-c', text],
    preferBash: true,
    ...(stdin !== undefined && { stdin }),
  }) as const;

describe('a text in place of an argv', () => {
  it('runs in bash if the image has it, and so does a script that names no program', async () => {
    const root = await rootCalled('with-bash');
    await addProgram(root, '/bin/bash');
    const inside = await inImage(root);
    await inside.sh('printf "[[ 1 == 1 ]] && echo bash\\n" > script; busybox chmod +x script');
    const { stdout } = await inside.run(
      inShell('./script; echo $BASH; words=(a b); echo ${#words[@]}; echo $0'),
    );
    expect(stdout.head).toBe('bash\n/bin/bash\n2\nbash\n');
    // No login over a network, whatever its stdin is.
    await inside.sh('echo "echo read" > .bashrc');
    expect((await inside.run(inShell('cat', 'given'))).stdout.head).toBe('given');
    await inside.leave();
  });

  it('runs in sh if it has none', async () => {
    const inside = await inImage(await rootCalled('without-bash'));
    expect((await inside.run(inShell('echo "$0 $BASH."'))).stdout.head).toBe('sh .\n');
    await inside.leave();
  });
});
