import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { goInside, type Inside } from '#test/support/inside.ts';
import { expectNothingLeft } from '#test/support/left-behind.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

const inotifyInit = process.arch === 'x64' ? 294 : 26;

/** The host's id of the sandbox's user 0, as its own kernel file tells it. */
async function baseOf(inside: Inside): Promise<number> {
  const [first, base, count] = (await inside.sh('cat /proc/self/uid_map')).stdout.head
    .trim()
    .split(/\s+/)
    .map(Number);
  expect([first, count]).toEqual([0, 65_536]);
  return base ?? 0;
}

describe('sandboxes of two nodes of one machine', () => {
  let nodes: readonly TestNode[];
  let insides: readonly Inside[];
  beforeAll(async () => {
    nodes = await Promise.all([startNodeProcess(), startNodeProcess()]);
    insides = await Promise.all(nodes.flatMap((node) => [goInside(node), goInside(node)]));
  });
  afterAll(async () => {
    for (const inside of insides) await inside.leave();
    for (const node of nodes) await node.stop();
    for (const { stateFolder } of nodes) await expectNothingLeft(stateFolder);
  });

  it('have 65,536 ids each, and none in common', async () => {
    const bases = await Promise.all(insides.map(baseOf));
    expect(new Set(bases).size).toBe(4);
    expect(bases.every((base) => base % 65_536 === 0 && base > 0)).toBe(true);
  });

  it('have them written down, for whoever must remove what is left', async () => {
    const [node, inside] = [nodes[0], insides[0]];
    if (node === undefined || inside === undefined) throw new Error('nothing runs');
    const file = join(node.stateFolder, 'sandboxes', inside.sandbox, 'record.json');
    const record = JSON.parse(await readFile(file, 'utf8')) as { idBase: number };
    expect(record.idBase).toBe(await baseOf(inside));
  });

  it('are still the users 0, 1000 and 1001 to themselves', async () => {
    const said = await insides[0]?.sh('id -u; stat -c %u /workspace /tmp; getent passwd 1001');
    expect(said?.stdout.head).toBe('1000\n1000\n0\ngrader:x:1001:1001:grader:/nonexistent:/bin/sh\n');
  });

  it('one of them at the limit of a user leaves the others all of theirs', async () => {
    const take = `$| = 1; $n++ while $n < 1000 && syscall(${inotifyInit}, 0) >= 0; print "$n\\n";`;
    const hold = `perl -e '${take} sleep 30' & sleep 1`;
    const count = `perl -e '${take}'`;
    const first = await insides[0]?.sh(hold);
    const second = await insides[1]?.sh(count);
    expect(first?.stdout.head.trim()).toMatch(/^\d{2,}$/);
    expect(second?.stdout.head.trim()).toBe(first?.stdout.head.trim());
  });

  it('make no namespaces of their own, whoever asks', async () => {
    const said = await insides[0]?.sh(
      'cat /proc/sys/user/max_user_namespaces; unshare --user true; unshare --mount true',
    );
    expect(said?.stdout.head.trim()).toBe('0');
    expect(said?.stderr.head).toMatch(/unshare failed[^]*unshare failed/);
  });
});

describe('a sandbox whose commands run as root', () => {
  let node: TestNode;
  let inside: Inside;
  beforeAll(async () => {
    node = await startNodeProcess();
    inside = await goInside(node, { runAs: 'root' });
  });
  afterAll(async () => {
    await inside.leave();
    await node.stop();
  });

  it('may be a member of groups and give files to them, as an installer does', async () => {
    const script = `perl -e '$) = "0 1001"; open F, ">f"; chown(-1, 1001, "f") or print "refused: $!"'; stat -c %g f`;
    expect((await inside.sh(script)).stdout.head.trim()).toBe('1001');
  });

  it('neither replaces the socket of its daemon nor writes beside it', async () => {
    const script =
      'cd /.corral/daemon && (rm -f d.sock; mv d.sock e.sock; ln -s /x y; echo > z; chmod 777 .; ls) 2>/dev/null; true';
    await inside.sh(script);
    expect((await inside.sh('echo still heard')).stdout.head).toBe('still heard\n');
    expect(
      (await inside.sh('ls /.corral/daemon 2>&1; touch /.corral/daemon/z; stat -c %F /.corral/daemon/d.sock'))
        .stdout.head,
    ).toBe('d.sock\nsocket\n');
  });
});

describe('a folder that is closed to others', () => {
  it.each([0, 1000])(
    'is no data folder, also if it is the user %i’s: nobody inside is that one',
    async (owner) => {
      const data = await mkdtemp(join(tmpdir(), 'corral-closed-'));
      await writeFile(join(data, 'corpus.txt'), 'words\n');
      await chown(data, owner, owner);
      const node = await startNodeProcess();
      const inside = goInside(node, { data: [{ source: data, target: '/data' }] });
      await expect(inside).rejects.toThrow(/closed to other users.*chmod o\+rx/);
      await node.stop();
      await rm(data, { recursive: true });
    },
  );

  it('may hold the data folder, the state folder and the root of a sandbox, as /root does', async () => {
    const closed = await mkdtemp(join(tmpdir(), 'corral-closed-'));
    const data = await mkdtemp(join(closed, 'data-'));
    await chmod(data, 0o755);
    await writeFile(join(data, 'corpus.txt'), 'words\n', { mode: 0o644 });
    const stateFolder = await mkdtemp(join(closed, 'state-'));
    const node = await startNodeProcess({ stateFolder });
    const inside = await goInside(node, { data: [{ source: data, target: '/data' }] });
    const { stdout } = await inside.sh('cat /data/corpus.txt');
    await inside.leave();
    await node.stop();
    await rm(closed, { recursive: true });
    expect(stdout.head).toBe('words\n');
  });
});

describe('a node that shares the ids of its host', () => {
  it('says so, and its sandboxes run', async () => {
    const node = await startNodeProcess({ env: { CORRAL_NODE_USER_NAMESPACES: 'off' } });
    const inside = await goInside(node);
    const { stdout } = await inside.sh('id -u; cat /proc/self/uid_map');
    expect((await node.provider.limitations()).join(' ')).toContain('CORRAL_NODE_USER_NAMESPACES is off');
    await inside.leave();
    await node.stop();
    expect(stdout.head).toMatch(/^1000\n\s*0\s+0\s/);
  });

  it.each(['rm d.sock', 'ln -sf /x d.sock', 'mv d.sock e.sock'])(
    'ends a sandbox whose root did "%s", as one that its command killed',
    async (attack) => {
      const node = await startNodeProcess({ env: { CORRAL_NODE_USER_NAMESPACES: 'off' } });
      const inside = await goInside(node, { runAs: 'root' });
      await inside.sh(`cd /.corral/daemon && ${attack}`).catch(() => undefined);
      const { cause, evidence } = await inside.events.of(inside.sandbox, 'gone');
      await inside.leave();
      await node.stop();
      expect(cause).toBe('sandboxd_killed');
      expect(evidence).toMatchObject({ endedByNode: 'socket_lost', commandsRunAs: 'sandboxd' });
    },
  );
});
