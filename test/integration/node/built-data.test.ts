import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dataDigestOf } from '#src/environments/digest.ts';
import { treeDigest } from '#src/environments/tree-digest.ts';
import type { BuiltFolder } from '#src/model/environment.ts';
import { sandboxId } from '#src/model/ids.ts';
import { expectNothingLeft, processesOf } from '#test/support/left-behind.ts';
import { eventually } from '#test/support/eventually.ts';
import { goInside, type Inside } from '#test/support/inside.ts';
import { startNodeProcess, type TestNode, testTemplate } from '#test/support/sandboxes.ts';

/** Counts its own runs where only we look: in what it prints into the result. */
const script = `
import { mkdirSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
const out = process.env.CORRAL_DATA;
mkdirSync(out + '/deep/er', { recursive: true, mode: 0o700 });
writeFileSync(out + '/deep/er/page.txt', 'a page', { mode: 0o600 });
writeFileSync(out + '/stamp', String(process.hrtime.bigint()));
const db = new DatabaseSync(out + '/pages.db');
db.exec("CREATE VIRTUAL TABLE pages USING fts5(text, tokenize = 'porter'); INSERT INTO pages VALUES ('net revenues')");
db.close();
`;

let folder: string;
let dataDir: string;
let node: TestNode;
const insides: Inside[] = [];

async function leaveAll(): Promise<void> {
  for (const inside of insides.splice(0)) await inside.leave();
}

const go = async (data: readonly BuiltFolder[], on = node) => {
  const inside = await goInside(on, { data });
  insides.push(inside);
  return inside;
};

/** Data as the loader makes it: `files` are its inputs. */
async function built(argv: readonly string[], files: Readonly<Record<string, string>>, timeoutMs = 30_000) {
  const inputs: string[] = [];
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), text);
    inputs.push(join(folder, name));
  }
  const digests = inputs.map((path) => {
    const tree = treeDigest(path);
    return { name: basename(path), digest: 'digest' in tree ? tree.digest : '' };
  });
  const build = { argv, inputs, timeoutMs, digest: dataDigestOf(argv, digests) };
  return { build, target: '/data/it' } satisfies BuiltFolder;
}

const create = (data: BuiltFolder, on = node, id = 's-refused') =>
  on.provider.create({
    sandbox: sandboxId(id),
    template: testTemplate({ data: [data] }),
    tokenSha256: 'a'.repeat(64),
  });

/** Processes of builds; node itself is told of the folder by its environment. */
const leftOfBuilds = async () =>
  (await processesOf(dataDir)).filter((process) => !process.includes('/node.mjs'));

const start = (stateFolder?: string) =>
  startNodeProcess({
    env: { CORRAL_DATA_DIR: dataDir },
    ...(stateFolder === undefined ? {} : { stateFolder }),
  });

const made = () => readdir(join(dataDir, 'made')).catch((): string[] => []);
const building = () => readdir(join(dataDir, 'building')).catch(() => []);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-data-'));
  dataDir = join(folder, 'data');
  node = await start();
});
afterEach(async () => {
  await leaveAll();
});
afterAll(async () => {
  await node.stop();
  await expectNothingLeft(node.stateFolder);
  await rm(folder, { recursive: true });
});

describe('data that a program makes', () => {
  test('is made once, by our own Node, and all sandboxes read the same and write none of it', async () => {
    const data = await built(['node', 'make.mjs'], { 'make.mjs': script });
    const [one, other] = await Promise.all([go([data]), go([data])]);
    const [first, second] = await Promise.all([one, other].map((inside) => inside.sh('cat /data/it/stamp')));
    expect(first?.stdout.head).toMatch(/^\d+$/);
    expect(second?.stdout.head).toBe(first?.stdout.head);
    // Made closed by its program, it is open to the policy all the same.
    expect((await one.sh('cat /data/it/deep/er/page.txt')).stdout.head).toBe('a page');
    const tries = 'echo x > /data/it/stamp; echo x > /data/it/new; rm -f /data/it/pages.db; ls -A /data/it';
    expect((await one.sh(tries)).stdout.head).toBe('deep\npages.db\nstamp\n');
    expect((await other.sh('cat /data/it/stamp')).stdout.head).toBe(first?.stdout.head);
    expect(await node.provider.data()).toEqual([
      expect.objectContaining({ digest: data.build.digest, state: 'ready', message: null }),
    ]);
  });

  test('has no network, no home, no secret, no neighbour, and no right beyond its folder', async () => {
    const look = [
      'id -u; id -G; ls -A /root /home 2>/dev/null; ls /inputs; env | sort; ls /proc | grep -c "^[0-9]"; cat /proc/net/dev | wc -l',
      'grep -E "^(CapEff|CapPrm|NoNewPrivs|Seccomp):" /proc/self/status',
      'touch /inputs/x /usr/x /x 2>&1; echo end',
    ].join('; ');
    const data = await built(['sh', '-c', `{ ${look}; } > $CORRAL_DATA/seen 2>&1`], { 'a.txt': 'a' });
    const inside = await go([data]);
    const seen = (await inside.sh('cat /data/it/seen')).stdout.head.split('\n');
    expect(seen).toEqual(expect.arrayContaining(['65534', 'a.txt', 'HOME=/tmp', 'CORRAL_DATA=/out', 'end']));
    expect(seen.filter((line) => /^(CapEff|CapPrm)/.test(line)).join()).toMatch(
      /^CapEff:\t0+,CapPrm:\t0+$|^CapPrm:\t0+,CapEff:\t0+$/,
    );
    expect(seen.filter((line) => /^(NoNewPrivs:\t1|Seccomp:\t2)$/.test(line))).toHaveLength(2);
    expect(seen.filter((line) => /Permission denied|Read-only file system/.test(line))).toHaveLength(3);
    expect(seen.filter((line) => line.includes('=')).map((line) => line.split('=')[0])).toEqual(
      ['CORRAL_DATA', 'HOME', 'LANG', 'PATH', 'PWD', 'TMPDIR', 'TZ'].filter((name) =>
        seen.some((line) => line.startsWith(`${name}=`)),
      ),
    );
    // Two lines of heading and the loop-back.
    expect(seen).toContain('3');
  });

  test('that fails is its author’s fault: command, ending and last words, and no sandbox', async () => {
    const data = await built(['sh', '-c', 'echo reading; echo the column is missing >&2; exit 3'], {});
    await expect(create(data)).rejects.toMatchObject({
      code: 'setup_failed',
      message: expect.stringMatching(/"exit 3|exit code 3.*reading\nthe column is missing/s),
    });
    expect(await building()).toEqual([]);
    expect(await node.provider.data()).toEqual(
      expect.arrayContaining([expect.objectContaining({ state: 'failed', digest: data.build.digest })]),
    );
  });

  test.each([
    ['leaves nothing', ['true'], 'left nothing in the folder'],
    [
      'leaves a pipe',
      ['sh', '-c', 'mkfifo $CORRAL_DATA/pipe; echo x > $CORRAL_DATA/x'],
      'neither file, folder nor link',
    ],
    ['is not there', ['no-such-program'], 'no-such-program'],
    ['takes too long', ['sleep', '60'], 'was not done within 0.3 s'],
    ['is killed', ['sh', '-c', 'kill -9 $$'], 'exit code 137'],
  ] as const)('a program that %s makes no data', async (what, argv, said) => {
    // Only a program that never ends is cut short: on a busy machine others take longer, too.
    const data = await built(argv, {}, what === 'takes too long' ? 300 : undefined);
    const before = await made();
    await expect(create(data)).rejects.toMatchObject({
      code: 'setup_failed',
      message: expect.stringContaining(said),
    });
    expect(await made()).toEqual(before);
    expect(await leftOfBuilds()).toEqual([]);
  });

  test('whose inputs have changed since is not passed off as what was asked for', async () => {
    const data = await built(['cp', 'b.txt', '/out/b.txt'], { 'b.txt': 'one' });
    await writeFile(join(folder, 'b.txt'), 'two');
    await expect(create(data)).rejects.toMatchObject({ message: expect.stringContaining('have changed') });
  });

  test('takes longer than anybody waits: asked again it says how far it is, then it is there', async () => {
    const argv = [
      'sh',
      '-c',
      'head -c 3000000 /dev/zero > $CORRAL_DATA/half; sleep 7; echo done > $CORRAL_DATA/end',
    ];
    const data = await built(argv, {});
    await expect(create(data)).rejects.toMatchObject({
      code: 'unschedulable',
      message: expect.stringMatching(/is being built: .*, [5-9](\.\d)? s, 3000000 bytes so far/),
    });
    const state = async () => (await node.provider.data()).find(({ digest }) => digest === data.build.digest);
    await eventually(state, { state: 'ready' });
    expect((await (await go([data])).sh('cat /data/it/end')).stdout.head).toBe('done\n');
  });
});

describe('a node that dies while it builds', () => {
  let second: TestNode;
  beforeEach(async () => {
    second = await start();
  });
  afterEach(async () => {
    await second.stop();
    await expectNothingLeft(second.stateFolder);
  });

  test('leaves nothing that is believed, and its lock to the next', async () => {
    const argv = [
      'sh',
      '-c',
      'echo half > $CORRAL_DATA/a; [ -e /inputs/slow ] && sleep 2; echo whole > $CORRAL_DATA/b',
    ];
    const data = await built(argv, { slow: '' });
    const asked = create(data, second).catch(() => 'refused');
    await eventually(building, { length: 1 });
    await second.crash();
    expect(await asked).toBe('refused');
    await eventually(leftOfBuilds, { length: 0 });
    second = await start(second.stateFolder);
    const inside = await go([data], second);
    expect((await inside.sh('cat /data/it/a /data/it/b')).stdout.head).toBe('half\nwhole\n');
    expect(await building()).toEqual([]);
    await leaveAll();
  });

  test('and two at the same time build it once', async () => {
    const data = await built(['sh', '-c', 'sleep 1; cat /proc/sys/kernel/random/uuid > $CORRAL_DATA/id'], {});
    const both = await Promise.all([go([data]), go([data], second)]);
    const [one, other] = await Promise.all(both.map((inside) => inside.sh('cat /data/it/id')));
    expect(one?.stdout.head).toMatch(/-/);
    expect(other?.stdout.head).toBe(one?.stdout.head);
    await leaveAll();
  });

  test('what somebody broke in the cache is made again', async () => {
    const data = await built(['sh', '-c', 'cat /proc/sys/kernel/random/uuid > $CORRAL_DATA/id'], {});
    const before = await made();
    await go([data]);
    const key = (await made()).find((name) => !before.includes(name)) ?? '';
    const file = join(dataDir, 'made', key, 'content', 'id');
    const text = await readFile(file, 'utf8');
    await chmod(file, 0o644);
    await writeFile(file, 'broken');
    await mkdir(join(dataDir, 'made', key, 'content', 'more'));
    await leaveAll();
    const inside = await go([data], second);
    const answer = await inside.sh('cat /data/it/id');
    expect(answer.stdout.head).toMatch(/-/);
    expect(answer.stdout.head).not.toBe(text);
    await leaveAll();
  });
});
