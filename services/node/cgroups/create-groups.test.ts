import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#src/platform/clock.ts';
import { createGroups, detectLayout, unifiedPath } from './create-groups.ts';
import type { GroupLimits } from './groups.ts';

const limits: GroupLimits = { memoryBytes: 268_435_456, tasks: 112, cpuMilli: 1500, cpuShareMilli: 500 };

/** Folders that look like mounted control groups; the kernel's own behaviour is tested with real sandboxes. */
describe('control groups', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'corral-cgroups-'));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const put = async (file: string, text: string) => {
    await mkdir(join(root, file, '..'), { recursive: true });
    await writeFile(join(root, file), text);
  };
  const layout = async (selfCgroup: string) => {
    await put('self', selfCgroup);
    return detectLayout(root, join(root, 'self'));
  };
  const read = (file: string) => readFile(join(root, file), 'utf8');

  it('of v1 get their limits in each controller, with swap and sockets counted where the kernel can', async () => {
    for (const name of ['memory', 'pids', 'cpu']) await put(`${name}/cgroup.procs`, '');
    await put('memory/memory.memsw.limit_in_bytes', '');
    await put('memory/memory.kmem.tcp.limit_in_bytes', '');
    const found = await layout('4:memory:/\n0::/\n');
    expect(found).toMatchObject({ version: 'v1', limitations: [] });
    const group = await createGroups(found, 'fleet', systemClock).create('s-1', limits);
    expect(await read('memory/corral/fleet/s-1/memory.limit_in_bytes')).toBe('268435456');
    expect(await read('memory/corral/fleet/s-1/memory.memsw.limit_in_bytes')).toBe('268435456');
    expect(await read('memory/corral/fleet/s-1/memory.kmem.tcp.limit_in_bytes')).toBe('33554432');
    expect(await read('pids/corral/fleet/s-1/pids.max')).toBe('112');
    expect(await read('cpu/corral/fleet/s-1/cpu.cfs_quota_us')).toBe('150000');
    expect(await read('cpu/corral/fleet/s-1/cpu.shares')).toBe('512');
    expect(group.joinFiles).toHaveLength(3);
  });

  it('of v1 without a controller say which limit is not enforced', async () => {
    await put('memory/cgroup.procs', '');
    await put('cpu/cgroup.procs', '');
    const { limitations } = await layout('');
    expect(limitations).toEqual([
      expect.stringContaining('the limit of processes is not enforced'),
      expect.stringContaining('Swap is not counted'),
      expect.stringContaining('TCP sockets hold is not counted'),
    ]);
  });

  it('of v2 get their limits in one folder of the delegated subtree', async () => {
    await put('cgroup.controllers', '');
    await put('user.slice/cgroup.controllers', 'cpu memory pids io');
    await put('user.slice/cgroup.subtree_control', 'cpu memory pids');
    const found = await layout('0::/user.slice\n');
    expect(found).toMatchObject({ version: 'v2', limitations: [] });
    const group = await createGroups(found, 'fleet', systemClock).create('s-1', limits);
    const folder = 'user.slice/corral/fleet/s-1';
    expect(await read(`${folder}/memory.max`)).toBe('268435456');
    expect(await read(`${folder}/memory.swap.max`)).toBe('0');
    expect(await read(`${folder}/cpu.max`)).toBe('150000 100000');
    expect(await read(`${folder}/cpu.weight`)).toBe('50');
    expect(group.memory).toEqual({ kills: join(root, folder, 'memory.events'), limitAlsoAbove: false });
  });

  it('of v2 with a controller that is not handed down say so, and set the others', async () => {
    await put('cgroup.controllers', 'memory pids');
    await put('cgroup.subtree_control', 'memory pids');
    const found = await layout('0::/\n');
    expect(found.limitations).toEqual([expect.stringContaining('the CPU limit is not enforced')]);
    await createGroups(found, 'fleet', systemClock).create('s-1', limits);
    await expect(read('corral/fleet/s-1/cpu.max')).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('are none on a host without any, which is said, and sandboxes start all the same', async () => {
    const found = await layout('');
    expect(found.version).toBe('none');
    expect(found.limitations).toHaveLength(1);
    const group = await createGroups(found, 'fleet', systemClock).create('s-1', limits);
    expect(group.joinFiles).toEqual([]);
    expect(group.memory).toBeNull();
    await group.remove();
  });
});

describe('what the kernel writes', () => {
  it('our group of v2 is found among those of v1', () => {
    expect(unifiedPath('4:memory:/a\n0::/b/c\n')).toBe('/b/c');
    expect(unifiedPath('4:memory:/a\n')).toBeNull();
  });
});
