import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memoryKillsSince, readMemoryAccount } from './memory-account.ts';

const mebibyte = 1024 * 1024;

const v2 = (oom: number, kills: number) =>
  `low 0\nhigh 0\nmax 9\noom ${oom}\noom_kill ${kills}\noom_group_kill 0`;
const v1 = (kills: number) => `oom_kill_disable 0\nunder_oom 0\noom_kill ${kills}`;

/** Files as kernels write them; what this machine's own kernel writes is tested with real sandboxes. */
describe('whose want of memory a kill was for', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corral-account-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const write = async (files: Readonly<Record<string, string | number>>) => {
    await mkdir(folder, { recursive: true });
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), `${text}\n`);
  };
  type Case = {
    readonly file: string;
    readonly inPod?: boolean;
    readonly before: Readonly<Record<string, string | number>>;
    readonly after: Readonly<Record<string, string | number>>;
  };
  const judged = async ({ file, inPod = false, before, after }: Case) => {
    const files = { kills: join(folder, file), limitAlsoAbove: inPod };
    await write(before);
    const account = readMemoryAccount(files);
    await write(after);
    return memoryKillsSince(account, files);
  };
  const ofV2 = (before: [number, number], after: [number, number], more = {}, inPod = false) =>
    judged({
      file: 'memory.events',
      inPod,
      before: { 'memory.events': v2(...before), ...more },
      after: { 'memory.events': v2(...after) },
    });
  const ofV1 = (refused: [number, number], peak: number, inPod = false) =>
    judged({
      file: 'memory.oom_control',
      inPod,
      before: {
        'memory.oom_control': v1(1),
        'memory.failcnt': 0,
        'memory.memsw.failcnt': refused[0],
        'memory.max_usage_in_bytes': peak,
        'memory.limit_in_bytes': 256 * mebibyte,
      },
      after: { 'memory.oom_control': v1(3), 'memory.memsw.failcnt': refused[1] },
    });

  it('v2 counts both at the group’s own limit: the sandbox’s', async () => {
    expect(await ofV2([0, 0], [1, 2])).toEqual({ count: 2, lackedBy: 'sandbox' });
  });

  it('v2 counts the kill alone: the machine’s, whatever the group lacked earlier', async () => {
    expect(await ofV2([4, 4], [4, 5])).toEqual({ count: 1, lackedBy: 'machine' });
  });

  it('v2 with a peak that page cache brought to the limit: the machine’s all the same', async () => {
    const full = { 'memory.peak': 256 * mebibyte, 'memory.max': 256 * mebibyte };
    expect(await ofV2([0, 0], [0, 1], full)).toEqual({ count: 1, lackedBy: 'machine' });
  });

  it('in a pod the pod is refused before its container: the peak decides, and it never came near: the machine’s', async () => {
    const far = { 'memory.peak': 200 * mebibyte, 'memory.max': 256 * mebibyte };
    expect(await ofV2([0, 0], [0, 1], far, true)).toEqual({ count: 1, lackedBy: 'machine' });
    const near = { 'memory.peak': 242 * mebibyte, 'memory.max': 256 * mebibyte };
    expect(await ofV2([0, 0], [0, 1], near, true)).toEqual({ count: 1, lackedBy: 'sandbox' });
  });

  it('in a pod of a kernel that keeps no peak: the sandbox’s, which would else have a way out', async () => {
    expect(await ofV2([0, 0], [0, 1], {}, true)).toEqual({ count: 1, lackedBy: 'sandbox' });
  });

  it('v1 that counts refusals: by those, not by the peak', async () => {
    expect(await ofV1([3, 5], 256 * mebibyte)).toEqual({ count: 2, lackedBy: 'sandbox' });
    expect(await ofV1([3, 3], 256 * mebibyte)).toEqual({ count: 2, lackedBy: 'machine' });
  });

  it('v1 that does not count refusals: by the peak', async () => {
    expect(await ofV1([0, 0], 256 * mebibyte)).toEqual({ count: 2, lackedBy: 'sandbox' });
    expect(await ofV1([0, 0], 200 * mebibyte)).toEqual({ count: 2, lackedBy: 'machine' });
  });

  it('no kill is nobody’s, and a file that cannot be read says nothing', async () => {
    expect(await ofV2([1, 1], [2, 1])).toEqual({ count: 0, lackedBy: null });
    const nowhere = { kills: join(folder, 'nowhere'), limitAlsoAbove: true };
    expect(memoryKillsSince(readMemoryAccount(nowhere), nowhere)).toBeNull();
  });
});
