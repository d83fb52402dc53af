import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { busyboxRoot } from '#test/support/busybox-root.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/*
 * A grader with `grade_in: fresh` and `changes`: what the policy made of the image's folders is brought to a new sandbox of the image, and
 * nothing else of it. The grader compares what is there with what the row expects, and so says whether all of it has arrived.
 */

const applets = [
  'ls',
  'mkdir',
  'ln',
  'rm',
  'mv',
  'chmod',
  'find',
  'sort',
  'stat',
  'touch',
  'readlink',
  'diff',
];
const moreApplets = [
  'mkfifo',
  'truncate',
  'seq',
  'printf',
  'test',
  'rmdir',
  'cp',
  'env',
  'xargs',
  'tar',
  'dd',
  'id',
  'date',
];

/** What is in a folder: a line for each entry, with what makes it what it is. */
const shown = `find . | sort | while read -r at; do
  if [ -L "$at" ]; then echo "$at -> $(readlink "$at")"
  elif [ -d "$at" ]; then echo "$at/ $(stat -c %a "$at")"
  else echo "$at $(stat -c %a "$at") $(cat "$at")"; fi
done`;

const judge = `
as-policy --stdin sh < "$CORRAL_GRADER_DIR/show.sh" > seen || exit 3
cat seen >&2
[ -n "$(ls /tmp)" ] && exit 4
if diff seen "$CORRAL_GRADER_DIR/expected" >&2; then echo 1; else echo 0; fi > "$CORRAL_SCORE_FILE"
`;

const yaml = (name: string, root: string, { changes = '{ below: [.] }', runAs = 'user', more = '' } = {}) => `
name: ${name}
keep: graded
sandbox: { image: "rootfs:${root}", disk: 128Mi, memory: 256Mi, processes: 64, start_timeout: 30s, run_as: ${runAs} }
tools: { shell: { builtin: shell, timeout: 60s } }
grader:
  kind: command
  grade_in: fresh
  changes: ${changes}
  artifact_bytes: 1Mi
  on_artifacts: 0.25
  command: [sh, -c, ${JSON.stringify(judge)}]
  files: { from: "tests/{item.id}/" }
  timeout: 60s
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0.125
${more}
pool: { min_ready: 1, max: 16, grader: { min_ready: 1, max: 4 } }
`;

const untouched = `./ 755
./.git/ 755
./.git/config 644 [core]
./lib/ 755
./lib/a 644 a
./lib/b 644 b
./lib/deep/ 755
./lib/deep/c 644 c
./link -> lib/a
./run.sh 755 #!/bin/sh
./text 644 old
`;

/** What becomes of the image's folder, by what a line of it becomes: null if it goes. */
function expected(changes: Readonly<Record<string, string | null>>): string {
  const lines = new Map(
    untouched
      .trimEnd()
      .split('\n')
      .map((line) => [line.split(' ')[0], line] as const),
  );
  for (const [path, line] of Object.entries(changes)) {
    lines.delete(`${path}/`);
    if (line === null) lines.delete(path);
    else lines.set(path, `${path}${line}`);
  }
  return `${[...lines.values()]
    .map((line) => line ?? '')
    .toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
    .join('\n')}\n`;
}
const nameOf = (line: string) => (line.split(' ')[0] ?? '').replace(/\/$/, '');

const rows = {
  same: untouched,
  patched: expected({
    './text': ' 644 new',
    './lib/a': null,
    './lib/renamed': ' 600 a',
    './lib/deep': null,
    './lib/deep/c': null,
    './new': '/ 750',
    './new/file': ' 644 made',
    './new/up': ' -> ../text',
    './run.sh': ' 644 #!/bin/sh',
    './link': ' -> lib/b',
  }),
  rooted: expected({
    './text': ' 644 new',
    './lib/a': null,
    './lib/renamed': ' 644 a',
    './new': '/ 755',
    './new/file': ' 755 made',
  }),
  mixed: expected({
    './text': ' 644 new',
    './lib/a': null,
    './lib/b': ' 644 other',
    './lib/renamed': ' 644 a',
    './lib/deep/c': ' 644 other',
    './lib/more': '/ 755',
    './lib/more/x': ' 644 x',
  }),
  swapped: expected({
    './lib': ' 644 a file now',
    './lib/a': null,
    './lib/b': null,
    './lib/deep': null,
    './lib/deep/c': null,
    './text': '/ 755',
    './text/inside': ' 644 x',
    './link': ' 644 no link',
  }),
  hostile: expected({ './run.sh': ' 755 #!/bin/sh', './text': null, './we ird\'"\\$(x)*': ' 644 name' }),
};

let folder: string;
let corral: FleetOfTest;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-changes-'));
  await chmod(folder, 0o755);
  const [ours, roots, home] = [
    await taskRoot('ours', 1000),
    await taskRoot('roots', 0),
    await taskRoot('home', 1000, '/home/dev'),
  ];
  const mixed = await taskRoot('mixed', 1000);
  execFileSync('chown', ['-hR', '0:0', join(mixed, 'testbed/lib')]);
  execFileSync('chown', ['-hR', '33:33', join(mixed, 'testbed/lib/deep')]);
  corral = await startFleetOfTest({
    environments: {
      ours: yaml('ours', ours),
      few: yaml('few', ours, { changes: '{ below: [.], files: 5 }' }),
      roots: yaml('roots', roots, { runAs: 'root' }),
      home: yaml('home', home),
      mixed: yaml('mixed', mixed, { runAs: 'root' }),
      linked: yaml('linked', roots, { runAs: 'root' }).replace('command: [sh,', 'command: [run-it,'),
      script: yaml('script', roots, { runAs: 'root' }).replace('command: [sh,', 'command: [script,'),
    },
    files: Object.fromEntries(
      Object.entries(rows).flatMap(([name, text]) => [
        [`tests/${name}/expected`, text],
        [`tests/${name}/show.sh`, shown],
      ]),
    ),
  });
});
afterAll(async () => {
  await corral.stop();
  await rm(folder, { recursive: true });
});

async function taskRoot(name: string, owner: number, workdir = '/testbed'): Promise<string> {
  const root = join(folder, name);
  await busyboxRoot(root, 'task\n');
  for (const applet of [...applets, ...moreApplets]) await symlink('busybox', join(root, 'bin', applet));
  for (const each of ['etc', 'tmp', 'root', 'usr/bin']) await mkdir(join(root, each), { recursive: true });
  await chmod(join(root, 'tmp'), 0o1777);
  await writeFile(
    join(root, 'etc/passwd'),
    'root:x:0:0::/root:/bin/sh\ndev:x:1000:1000::/home/dev:/bin/sh\n',
  );
  const at = join(root, workdir);
  const files = {
    '.git/config': '[core]\n',
    'lib/a': 'a\n',
    'lib/b': 'b\n',
    'lib/deep/c': 'c\n',
    text: 'old\n',
    'run.sh': '#!/bin/sh\n',
  };
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(at, file)), { recursive: true });
    await writeFile(join(at, file), text);
  }
  await chmod(join(at, 'run.sh'), 0o755);
  await symlink('lib/a', join(at, 'link'));
  execFileSync('chown', ['-hR', `${owner}:${owner}`, at]);
  // A task's own programs come first on the PATH, and one of the system's is a link to one of them.
  await symlink(`${workdir}/run.sh`, join(root, 'bin/run-it'));
  await writeFile(join(root, 'bin/script'), `#!${workdir}/run.sh\n`, { mode: 0o755 });
  await writeFile(
    `${root}.config.json`,
    JSON.stringify({ WorkingDir: workdir, Env: [`PATH=${workdir}/tools:/bin`] }),
  );
  return root;
}

let rollouts = 0;
async function play(environment: string, id: keyof typeof rows, command: string) {
  const trace = `${environment}-${id}-${(rollouts += 1)}`;
  const answer = await corral.rft.call({ trace, call: 'c1', command, environment, item: { id } });
  expect(answer).toMatchObject({ status: 200 });
  const graded = await corral.rft.grade({ trace, environment, item: { id } });
  return { trace, graded };
}

const patch = `echo new > text; chmod 600 lib/a; mv lib/a lib/renamed; rm -r lib/deep; mkdir -m 750 new; echo made > new/file
  ln -s ../text new/up; chmod 644 run.sh; rm link; ln -s lib/b link; echo kept out > .git/config; echo x > /tmp/evil`;

describe('a grader gets what the policy changed', () => {
  test.each([
    ['ours', 'chmod 700 .'],
    ['roots', 'true'],
    ['mixed', 'true'],
  ])('nothing, in %s', async (environment, command) => {
    expect((await play(environment, 'same', command)).graded).toMatchObject({
      status: 200,
      body: { score: 1 },
    });
  });

  test('new, changed, removed and renamed files, folders, links and modes', async () => {
    expect((await play('ours', 'patched', patch)).graded).toMatchObject({ status: 200, body: { score: 1 } });
  });

  test('kinds that were swapped for each other', async () => {
    const swap =
      'rm -r lib; echo "a file now" > lib; rm text; mkdir text; echo x > text/inside; rm link; echo "no link" > link';
    expect((await play('ours', 'swapped', swap)).graded).toMatchObject({ status: 200, body: { score: 1 } });
  });

  test('in folders of several owners', async () => {
    const patched =
      'echo new > text; mv lib/a lib/renamed; echo other > lib/b; echo other > lib/deep/c; mkdir lib/more; echo x > lib/more/x';
    expect((await play('mixed', 'mixed', patched)).graded).toMatchObject({ status: 200, body: { score: 1 } });
  });

  test('from a task whose commands are root, over files of root; what root closed is open to the user of graders', async () => {
    const rooted =
      'echo new > text; chmod 600 lib/a; mv lib/a lib/renamed; chmod 644 lib/renamed; mkdir -m 700 new; echo made > new/file; chmod 700 new/file';
    expect((await play('roots', 'rooted', rooted)).graded).toMatchObject({ status: 200, body: { score: 1 } });
  });
});

describe('a grader runs nothing of the policy’s by itself', () => {
  const forged = '#!/bin/sh\necho 1 > "$CORRAL_SCORE_FILE"\nexit 0\n';

  test.each(['sh', 'ls', 'diff', 'cat'])('%s in a folder of the PATH that came along', async (program) => {
    const forge = `mkdir -p tools; printf '${forged}' > tools/${program}; chmod 755 tools/${program}`;
    expect((await play('roots', 'same', forge)).graded).toMatchObject({ status: 200, body: { score: 0 } });
  });

  test.each([
    ['a link into the folder', 'linked'],
    ['a script with an interpreter in the folder', 'script'],
  ])('a program of the image that is %s', async (_what, environment) => {
    const forge = `printf '${forged}' > run.sh`;
    const { graded } = await play(environment, 'same', forge);
    expect(graded).toMatchObject({
      status: 503,
      body: { error: { code: 'grader_failed', retryable: true } },
    });
    expect(JSON.stringify(graded.body)).toContain('is in a folder that the policy changed');
  });
});

describe('a policy gets a score and no discard for', () => {
  test.each([
    ['more files than the author allows', 'few', 'same', 'for each in $(seq 6); do echo > $each; done', 0.25],
    ['more bytes than the author allows', 'ours', 'same', 'truncate -s 2M large', 0.25],
    ['a sparse file of 3 GiB', 'ours', 'same', 'truncate -s 3G sparse', 0.25],
    ['the folder removed', 'ours', 'same', 'cd /; rm -rf testbed', 0],
    ['all removed, with a full disk', 'ours', 'same', 'dd if=/dev/zero of=/tmp/fill bs=1M; true', 1],
    [
      'a folder of 90,000 empty files',
      'ours',
      'same',
      'mkdir many; cd many; seq 90000 | xargs -n 5000 touch; true',
      0.25,
    ],
    [
      'a folder of 90,000 unreadable files and long names',
      'ours',
      'same',
      `mkdir many; cd many; seq 90000 | sed s/^/${'n'.repeat(200)}/ | xargs -n 500 touch; find . -type f -exec chmod 0 {} +; true`,
      0.25,
    ],
    [
      'a tree of 3,000 folders',
      'ours',
      'same',
      'for a in $(seq 300); do mkdir $a; for b in $(seq 20); do mkdir $a/$b; done; done',
      0.25,
    ],
    [
      'a path that is too long',
      'ours',
      'same',
      'i=0; while [ $i -lt 60 ]; do mkdir -p $(printf %0200d 1) && cd $(printf %0200d 1) || break; i=$((i+1)); done; true',
      0.25,
    ],
  ] as const)('%s', async (_what, environment, id, command, score) => {
    expect((await play(environment, id, command)).graded).toMatchObject({ status: 200, body: { score } });
  });

  test('links out, pipes, devices, other kinds of names, set-user-id: they stay behind', async () => {
    const hostile = `rm text; ln -s /etc/passwd out; ln -s ../../../etc up; ln -s /proc/self/root magic; ln -s lib/../../../etc lead; mkfifo pipe
      chmod 4755 run.sh; printf 'name\\n' > 'we ird'"'"'"\\$(x)*'; printf x > "$(printf 'not-utf8-\\377')"
      mkdir -p __pycache__; echo evil > __pycache__/check.pyc; echo evil > sitecustomize.py; echo evil > x.pth; rm -rf .git; ln -s / .git`;
    expect((await play('ours', 'hostile', hostile)).graded).toMatchObject({
      status: 200,
      body: { score: 1 },
    });
  });
});

test('what is in a home next to the task’s folder, and its dot files, stays behind', async () => {
  const { graded } = await play(
    'home',
    'same',
    'echo evil > .bashrc; mkdir -p .local/bin; echo evil > .local/bin/ls; echo evil > .profile',
  );
  expect(graded).toMatchObject({ status: 200, body: { score: 1 } });
});
