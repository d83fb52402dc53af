import { execFileSync } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { busyboxRoot } from '#test/support/busybox-root.ts';
import { goInside, type Inside } from '#test/support/inside.ts';
import { expectNothingLeft } from '#test/support/left-behind.ts';
import { addPython } from '#test/support/python-root.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

/*
 * What the policy does to an image's programs, libraries and settings does not reach a grader, nor what the grader runs as the policy.
 * The image is open on purpose: an interpreter in a folder that all may write, one of id 1000 in its home, and folders of that id on
 * the PATH.
 */

const mebibyte = 1024 * 1024;
const python = '/opt/conda/bin/python';
const venv = '/homes/dev/venv/bin/python';
const path = '/tmp/bin:/homes/dev/bin:/opt/conda/bin:/homes/dev/venv/bin:/app/bin:/opt/through:/bin';

let node: TestNode;
let folder: string;
let inside: Inside;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-graders-'));
  await chmod(folder, 0o755);
  await openImage(join(folder, 'open'));
  node = await startNodeProcess();
});
afterAll(async () => {
  await node.stop();
  await rm(folder, { recursive: true });
  await expectNothingLeft(node.stateFolder);
});
beforeEach(async () => {
  inside = await goInside(node, {
    image: { kind: 'rootfs', path: join(folder, 'open') },
    folders: ['/answers'],
    memory: { requestBytes: 64 * mebibyte, limitBytes: 512 * mebibyte },
  });
});
afterEach(() => inside.leave());

async function openImage(root: string): Promise<void> {
  await busyboxRoot(root, '');
  await addPython(root, 'opt/conda');
  await cp(join(root, 'opt/conda'), join(root, 'homes/dev/venv'), { recursive: true });
  for (const each of ['etc', 'app/bin', 'homes/dev/bin', 'srv/db', 'lib/open'])
    await mkdir(join(root, each), { recursive: true });
  await symlink('/app/bin', join(root, 'opt/through'));
  await writeFile(
    join(root, 'etc/passwd'),
    'root:x:0:0::/root:/bin/sh\ndev:x:1000:1000::/homes/dev:/bin/sh\n',
  );
  const db = new DatabaseSync(join(root, 'srv/db/pages.db'));
  db.exec("CREATE TABLE pages (text TEXT); INSERT INTO pages VALUES ('of the image')");
  db.close();
  execFileSync('chown', [
    '-R',
    '1000:1000',
    ...['homes/dev', 'app', 'srv', 'etc'].map((each) => join(root, each)),
  ]);
  execFileSync('chmod', ['-R', 'a+rwX', join(root, 'opt/conda'), join(root, 'lib'), join(root, 'etc')]);
  const Config = { Env: [`PATH=${path}`, 'HOME=/homes/dev'], WorkingDir: '/app', User: 'dev' };
  await writeFile(`${root}.config.json`, JSON.stringify({ Config }));
}

/** What a program that the policy put in place of another does: the highest score, and a word. */
const forger = '#!/bin/sh\necho forged >&2\necho 1 > "$CORRAL_SCORE_FILE"\n';

const write = (file: string, text: string) =>
  inside.run({
    kind: 'exec',
    argv: [
      'sh',
      '-c',
      `cat > '${file}.new' && busybox chmod 755 '${file}.new' && busybox mv -f '${file}.new' '${file}'`,
    ],
    stdin: text,
  });

let turn = 0;
async function graded(argv: readonly string[], files: Readonly<Record<string, string>> = {}) {
  turn += 1;
  const { grade, stdout, stderr } = await inside.run({ kind: 'grade', turn, argv, files, stdin: '' });
  return { score: grade?.kind === 'ran' ? grade.score : grade, said: `${stdout.head}${stderr.head}` };
}

/** A grader in Python that gives a quarter, after what it does before. */
const quarter = (before = '') => `
import os, subprocess
def as_policy(*argv): return subprocess.run(['as-policy', *argv], capture_output=True, text=True)
${before}
open(os.environ['CORRAL_SCORE_FILE'], 'w').write('0.25')`;

const script = (before = '') => `${before}\necho 0.25 > "$CORRAL_SCORE_FILE"`;

describe('a grader runs what the image has', () => {
  it.each([
    ['an interpreter that all may write', python],
    ['a venv of id 1000', venv],
  ])('and not what the policy put in place of %s', async (_what, interpreter) => {
    expect((await write(interpreter, forger)).ending).toEqual({ kind: 'exited', exitCode: 0 });
    expect((await inside.run({ kind: 'exec', argv: [interpreter] })).stderr.head).toContain('forged');
    expect(await graded([interpreter, '-c', quarter()])).toEqual({ score: '0.25', said: '' });
  });

  it('also after the policy moved the folder away and made another', async () => {
    await inside.sh(
      'busybox mv /opt/conda /opt/conda2; busybox mv /homes/dev/venv /homes/dev/old; busybox mkdir -p /homes/dev/venv/bin',
    );
    await write(venv, forger);
    expect(await graded([venv, '-c', quarter()])).toEqual({ score: '0.25', said: '' });
  });

  it('and none of its modules: sitecustomize, usercustomize, a package, a .pth file', async () => {
    const library = execFileSync('ls', [join(folder, 'open/opt/conda/lib')], { encoding: 'utf8' }).trim();
    const forge = "import os, sys\nprint('forged', flush=True)\nos._exit(0)\n";
    for (const prefix of ['/opt/conda', '/homes/dev/venv', '/homes/dev/.local']) {
      await inside.sh(`busybox mkdir -p ${prefix}/lib/${library}/site-packages`);
      for (const name of [
        'sitecustomize.py',
        'usercustomize.py',
        'subprocess.py',
        'site-packages/sitecustomize.py',
      ])
        await write(`${prefix}/lib/${library}/${name}`, forge);
      await write(
        `${prefix}/lib/${library}/site-packages/x.pth`,
        "import os; print('forged', flush=True); os._exit(0)\n",
      );
    }
    expect((await inside.run({ kind: 'exec', argv: [python, '-c', 'print(1)'] })).stdout.head).toContain(
      'forged',
    );
    for (const interpreter of [python, venv])
      expect(await graded([interpreter, '-c', quarter()]), interpreter).toEqual({ score: '0.25', said: '' });
  });

  it('and no program of a folder that the policy may write, by whatever name it is on the PATH', async () => {
    for (const name of ['/homes/dev/bin', '/app/bin', '/opt/conda/bin'])
      for (const program of ['cat', 'sh', 'python', 'as-policy']) await write(`${name}/${program}`, forger);
    await graded(['sh', '-c', 'as-policy busybox mkdir /tmp/bin']);
    const looks =
      'echo "$PATH" | busybox tr : "\\n"; cat /bin/busybox > /dev/null; python -c "print(1)"; as-policy busybox true';
    const { score, said } = await graded(['sh', '-c', script(looks)]);
    expect(score).toBe('0.25\n');
    expect(said.replaceAll(/turn-[0-9a-f]+/g, 'turn')).toBe(
      [
        '/.corral/grader/turn/bin',
        '/homes/dev/bin',
        '/opt/conda/bin',
        '/homes/dev/venv/bin',
        '/bin',
        '1',
        '',
      ].join('\n'),
    );
  });

  it('and no library that the policy puts before others or preloads', async () => {
    expect((await inside.sh('echo /lib/open/forge.so > /etc/ld.so.preload')).stderr.head).toContain('denied');
    await inside.sh(
      'for each in /lib/*; do busybox mv $each $each.old; done; busybox rm -rf /lib/x86_64-linux-gnu /lib/aarch64-linux-gnu',
    );
    expect((await inside.run({ kind: 'exec', argv: [python, '-c', ''] })).ending).not.toEqual({
      kind: 'exited',
      exitCode: 0,
    });
    expect(await graded([python, '-c', quarter()])).toEqual({ score: '0.25', said: '' });
  });

  it('and what it runs as the policy is the image’s too, with the policy’s own files', async () => {
    await inside.sh(
      'echo "print(41 + 1)" > /app/solution.py; echo words > /answers/words; echo hidden > /tmp/hidden; echo x > /homes/dev/x',
    );
    await write(python, '#!/bin/sh\necho 42\n');
    await inside.sh('echo "print(0)" > /app/solution.py');
    const run = `
print(as_policy('${python}', 'solution.py').stdout, as_policy('cat', '/answers/words').stdout)
print(as_policy('sh', '-c', 'pwd; busybox id -u; busybox ls /tmp /homes/dev; echo $HOME').stdout)`;
    const { score, said } = await graded([python, '-c', quarter(run)]);
    expect(score).toBe('0.25');
    expect(said.trim().split(/\s+/)).toEqual([
      '0',
      'words',
      '/app',
      '1000',
      '/homes/dev:',
      'bin',
      'venv',
      '/tmp:',
      '/homes/dev',
    ]);
  });
});

describe('while a grader runs', () => {
  it('what it runs as the policy changes neither programs nor libraries, and reads nothing of the grader’s', async () => {
    const attacks = [
      `echo forged > ${python}`,
      `busybox mv /opt/conda /opt/other`,
      `busybox rm -r /homes/dev/venv`,
      `echo > /homes/dev/bin/cat`,
      `busybox ls /.corral/grader`,
      `busybox cat /.corral/grader/*/files/hidden`,
      `busybox cat "$0"`,
      `busybox ls /.corral/grading`,
      `busybox chroot / /bin/true`,
    ];
    const each = attacks.map((attack) => `(${attack}) 2>/dev/null && echo '${attack}' || echo refused`);
    const caps = 'busybox grep -E "^Cap(Prm|Eff|Amb)" /proc/self/status';
    const tries = `
script = ${JSON.stringify([...each, caps].join('\n'))}
said = as_policy('sh', '-c', script, os.environ['CORRAL_GRADER_DIR'] + '/hidden').stdout.splitlines()
own = [line for line in open('/proc/self/status').read().splitlines() if line[:6] in ('CapPrm', 'CapEff', 'CapAmb')]
print(*[line for line in said if line[:3] != 'Cap'])
print(*{line.split()[1] for line in said + own if line[:3] == 'Cap'})`;
    const { score, said } = await graded([python, '-c', quarter(tries)], { hidden: 'the answer' });
    expect(said).toBe(`${attacks.map(() => 'refused').join(' ')}\n0000000000000000\n`);
    expect(score).toBe('0.25');
    expect(await graded([python, '-c', quarter()])).toEqual({ score: '0.25', said: '' });
  });

  it('a disk that the policy has filled does not keep it from its files, its temporary folder and its score', async () => {
    const { stderr } = await inside.sh('busybox dd if=/dev/zero of=/homes/dev/all bs=1M');
    expect(stderr.head).toContain('No space left');
    const fills = `
import tempfile
for folder in (None, '/tmp'):
  with tempfile.TemporaryFile(dir=folder) as file: file.write(b'x' * 1_000_000)
print(open(os.environ['CORRAL_GRADER_DIR'] + '/hidden').read(), as_policy('sh', '-c', 'echo x > /app/x').stderr.split(':')[-1].strip())`;
    const { score, said } = await graded([python, '-c', quarter(fills)], { hidden: 'words' });
    expect(said).toBe('words No space left on device\n');
    expect(score).toBe('0.25');
  });
});

describe('the folders that the policy shares with graders', () => {
  it('are the same also if the policy makes the workspace again, where it may', async () => {
    await inside.sh(
      'cd /; busybox rm -rf /app/* /app/.[a-z]*; busybox mkdir /app/src; echo new > /app/src/main',
    );
    const { said } = await graded([
      'sh',
      '-c',
      script('cd /; as-policy cat /app/src/main; as-policy busybox find /app'),
    ]);
    expect(said).toBe('new\n/app\n/app/src\n/app/src/main\n');
  });

  it('cannot be replaced if they are in a folder of the policy’s', async () => {
    const other = await goInside(node, {
      image: { kind: 'rootfs', path: join(folder, 'open') },
      folders: ['/homes/dev/a', '/homes/dev/a/b'],
    });
    const said = await other.sh(
      'cd /homes/dev; echo 1 > a/b/f; busybox mv a a2; busybox mv a/b a/c; busybox rm -r a/b; busybox ls a; echo 2 > a/b/f',
    );
    expect(said.stderr.head.match(/[Bb]usy/g)).toHaveLength(3);
    const argv = ['sh', '-c', 'as-policy cat /homes/dev/a/b/f; echo 0.5 > "$CORRAL_SCORE_FILE"'];
    const { stdout } = await other.run({ kind: 'grade', turn: 1, argv, files: {}, stdin: '' });
    expect(stdout.head).toBe('2\n');
    await other.leave();
  });
});

it('queries read the database of the image, whatever the policy put in its place', async () => {
  await inside.sh('busybox mv /srv/db /srv/old; busybox mkdir /srv/db; echo none > /srv/db/pages.db');
  const query = {
    kind: 'query',
    database: '/srv/db/pages.db',
    sql: 'SELECT text FROM pages',
    values: {},
    each: ['', 'text', ''],
    none: '',
  } as const;
  const { ending, stdout } = await inside.run(query);
  expect({ ending, said: stdout.head.trim() }).toEqual({
    ending: { kind: 'exited', exitCode: 0 },
    said: 'of the image',
  });
});
