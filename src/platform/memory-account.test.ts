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
    readonly machineHadRoom?: boolean;
  };
  const judged = async ({ file, inPod = false, before, after, machineHadRoom = false }: Case) => {
    const files = { kills: join(folder, file), limitAlsoAbove: inPod };
    await write(before);
    const account = readMemoryAccount(files);
    await write(after);
    return memoryKillsSince(account, files, () => machineHadRoom);
  };
  type More = Pick<Case, 'inPod' | 'machineHadRoom'>;
  const ofV2 = (before: [number, number], after: [number, number], peaks = {}, more: More = {}) =>
    judged({
      file: 'memory.events',
      before: { 'memory.events': v2(...before), ...peaks },
      after: { 'memory.events': v2(...after) },
      ...more,
    });
  const ofV1 = (refused: [number, number], peak: number, more: More = {}) =>
    judged({
      file: 'memory.oom_control',
      before: {
        'memory.oom_control': v1(1),
        'memory.failcnt': 0,
        'memory.memsw.failcnt': refused[0],
        'memory.max_usage_in_bytes': peak,
        'memory.limit_in_bytes': 256 * mebibyte,
      },
      after: { 'memory.oom_control': v1(3), 'memory.memsw.failcnt': refused[1] },
      ...more,
    });
  const full = { 'memory.peak': 256 * mebibyte, 'memory.max': 256 * mebibyte };
  const far = { 'memory.peak': 200 * mebibyte, 'memory.max': 256 * mebibyte };

  it('v2 counts both at the group’s own limit: the sandbox’s', async () => {
    expect(await ofV2([0, 0], [1, 2])).toEqual({ count: 2, lackedBy: 'sandbox' });
    expect(await ofV2([0, 0], [1, 2], full, { inPod: true })).toEqual({ count: 2, lackedBy: 'sandbox' });
  });

  it('v2 counts the kill alone: the machine’s, whatever the group lacked earlier', async () => {
    expect(await ofV2([4, 4], [4, 5])).toEqual({ count: 1, lackedBy: 'machine' });
    expect(await ofV2([0, 0], [0, 1], full, { machineHadRoom: true })).toEqual({
      count: 1,
      lackedBy: 'machine',
    });
  });

  it('in a pod that is refused before its container, a peak far from the limit shows the machine’s', async () => {
    const inPod = { inPod: true, machineHadRoom: true };
    expect(await ofV2([0, 0], [0, 1], far, inPod)).toEqual({ count: 1, lackedBy: 'machine' });
  });

  it('in a pod a peak that page cache may have brought to the limit is no proof: the machine must be ruled out', async () => {
    expect(await ofV2([0, 0], [0, 1], full, { inPod: true })).toEqual({ count: 1, lackedBy: 'unknown' });
    const withRoom = { inPod: true, machineHadRoom: true };
    expect(await ofV2([0, 0], [0, 1], full, withRoom)).toEqual({ count: 1, lackedBy: 'sandbox' });
  });

  it('in a pod of a kernel that keeps no peak the machine must be ruled out, too; without a limit nothing is known', async () => {
    const limited = { 'memory.max': 256 * mebibyte };
    const withRoom = { inPod: true, machineHadRoom: true };
    expect(await ofV2([0, 0], [0, 1], limited, { inPod: true })).toEqual({ count: 1, lackedBy: 'unknown' });
    expect(await ofV2([0, 0], [0, 1], limited, withRoom)).toEqual({ count: 1, lackedBy: 'sandbox' });
    expect(await ofV2([0, 0], [0, 1], { 'memory.max': 'max' }, withRoom)).toEqual({
      count: 1,
      lackedBy: 'unknown',
    });
  });

  it('v1: no refusal where they are counted, or a peak far from the limit, shows the machine’s', async () => {
    const withRoom = { machineHadRoom: true };
    expect(await ofV1([3, 3], 256 * mebibyte, withRoom)).toEqual({ count: 2, lackedBy: 'machine' });
    expect(await ofV1([0, 0], 200 * mebibyte, withRoom)).toEqual({ count: 2, lackedBy: 'machine' });
  });

  it('v1: neither refusals nor the peak are a proof, both of which page cache brings about: the machine must be ruled out', async () => {
    for (const refused of [
      [3, 5],
      [0, 0],
    ] as [number, number][]) {
      expect(await ofV1(refused, 256 * mebibyte)).toEqual({ count: 2, lackedBy: 'unknown' });
      const ruledOut = await ofV1(refused, 256 * mebibyte, { machineHadRoom: true });
      expect(ruledOut).toEqual({ count: 2, lackedBy: 'sandbox' });
    }
  });

  it('without a kill there is nothing to say, nor where a file cannot be read', async () => {
    expect(await ofV2([1, 1], [2, 1])).toEqual({ count: 0, lackedBy: null });
    const nowhere = { kills: join(folder, 'nowhere'), limitAlsoAbove: true };
    expect(memoryKillsSince(readMemoryAccount(nowhere), nowhere, () => true)).toBeNull();
  });
});
