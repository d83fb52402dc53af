import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFakeLog } from '#test/fakes/log.ts';
import { noGroups } from './cgroups/groups.ts';
import { describeIsolation, type HostParts, limitationsOf } from './limitations.ts';
import { chooseOwnIds, createIdRanges, idsInRange, type OwnIds } from './own-ids.ts';

let stateFolder: string;
beforeEach(async () => {
  stateFolder = await mkdtemp(join(tmpdir(), 'corral-own-ids-'));
});
afterEach(() => rm(stateFolder, { recursive: true, force: true }));

/** A host where sandboxes can be made with shared ids only, as in a container without the right to mount /proc again. */
const sharedOnly = async ({ idRanges }: OwnIds) => {
  if (idRanges !== null) throw new Error('cannot mount proc');
};

function choose(userNamespaces: 'auto' | 'require' | 'off', changes: { isRoot?: boolean } = {}) {
  const log = createFakeLog();
  const config = { stateFolder, userNamespaces };
  const options = {
    config,
    name: 'own-ids-test',
    isRoot: true,
    log,
    trial: sharedOnly,
    ...changes,
  };
  return { log, chosen: chooseOwnIds(options) };
}

const groups = { version: 'v1', limitations: [] } as const;
const memoryRoom = { percent: 100, read: () => ({ totalBytes: 1, availableBytes: 1 }) };
const kernelKills = { next: () => [], close: () => undefined };
const limitations = (host: Pick<HostParts, 'ids'> & Partial<HostParts>) =>
  limitationsOf({
    groups,
    memoryRoom,
    kernelKills,
    canLimitSockets: true,
    terminalsLacking: 0,
    canOverlay: true,
    imageTrouble: null,
    ...host,
  }).join(' ');

it('where no sandbox starts in a namespace of its own, the ids are shared and it is said why', async () => {
  const { log, chosen } = choose('auto');
  const ids = await chosen;
  expect(ids.idRanges).toBeNull();
  expect(describeIsolation({ groups, ids })).toBe(
    'two users in each sandbox, which all sandboxes share; limits of memory, processes and CPU enforced',
  );
  expect(limitations({ ids })).toMatch(/one user id .* could not be had: cannot mount proc/);
  expect(log.lines).toContainEqual(expect.objectContaining({ level: 'warn' }));
});

it('one line says which users processes are, and whether limits hold', () => {
  const own = { idRanges: createIdRanges(0), stageFolder: '/stage', shared: null };
  expect(describeIsolation({ groups: noGroups, ids: own })).toMatch(
    /^two users in each sandbox, of its own; .* not enforced$/,
  );
  const some = { version: 'v2', limitations: ['one'] } as const;
  expect(describeIsolation({ groups: some, ids: { ...own, stageFolder: null } })).toMatch(
    /^single-user .* enforced in part$/,
  );
});

it('a node that requires them does not start there', async () => {
  await expect(choose('require').chosen).rejects.toThrow(/is require, but: cannot mount proc/);
});

it('nor does one that is not root', async () => {
  await expect(choose('require', { isRoot: false }).chosen).rejects.toThrow(/only root/);
});

it('where they are switched off, that is said too', async () => {
  const ids = await choose('off').chosen;
  expect(limitations({ ids })).toContain('CORRAL_NODE_USER_NAMESPACES is off');
});

it('a host that cannot tell whose want of memory a kill was for says so', async () => {
  const ids = await choose('off').chosen;
  expect(limitations({ ids })).toContain('whose want of memory');
  const counted = { version: 'v2', limitations: [] } as const;
  expect(limitations({ ids, groups: counted, kernelKills: null })).not.toContain('whose want of memory');
});

it('a host on which images cannot have a writable root says so, and what is closed in them', () => {
  const ids = { idRanges: null, stageFolder: '/run/corral', shared: null };
  expect(limitations({ ids, canOverlay: false })).toMatch(
    /a rootfs image is closed .* \(rootfs\) is read-only/,
  );
  expect(limitations({ ids })).not.toContain('rootfs');
});

/** One machine: which of its blocks are held, and the bases that something runs in. */
function aHost(running: readonly number[] = []) {
  const held = new Set<number>();
  const holdBlock = async (block: number) => {
    if (held.has(block)) return null;
    held.add(block);
    return { release: () => void held.delete(block) };
  };
  const tools = { holdBlock, basesInUse: async () => new Set(running) };
  return { nodeAt: (block: number) => createIdRanges(block, tools) };
}

const takeMany = async (ranges: ReturnType<typeof createIdRanges>, count: number) => {
  const taken = await Promise.all(Array.from({ length: count }, () => ranges.take()));
  return taken.sort((a, b) => a - b);
};

it('no two sandboxes of one host have an id in common, of whichever node they are', async () => {
  const { nodeAt } = aHost();
  const taken = [...(await takeMany(nodeAt(3), 100)), ...(await takeMany(nodeAt(3), 100))];
  const sorted = taken.sort((a, b) => a - b);
  expect(sorted.slice(1).every((base, index) => base - (sorted[index] ?? 0) >= idsInRange)).toBe(true);
});

it('ids stay clear of people, of /etc/subuid and of what counts with a sign', async () => {
  const all = await takeMany(aHost().nodeAt(62), 63 * 64);
  expect(all[0]).toBeGreaterThanOrEqual(0x7000_0000);
  expect((all.at(-1) ?? 0) + idsInRange).toBeLessThanOrEqual(0x7ffe_0000);
});

it('a host whose ranges are all in use says so instead of giving one twice', async () => {
  const ranges = aHost().nodeAt(0);
  const all = await takeMany(ranges, 63 * 64);
  await expect(ranges.take()).rejects.toThrow(/all 4032 of this host/);
  ranges.free(all[7] ?? 0);
  expect(await ranges.take()).toBe(all[7]);
});

it('a range that was just freed is the last to be taken again', async () => {
  const ranges = aHost().nodeAt(0);
  const first = await ranges.take();
  ranges.free(first);
  expect(await takeMany(ranges, 63)).not.toContain(first);
});

it('a range in which a sandbox of a dead node still runs is left out', async () => {
  const first = await aHost().nodeAt(5).take();
  const later = aHost([first]).nodeAt(5);
  expect(await takeMany(later, 200)).not.toContain(first);
});

it('what a node held is another’s after its end', async () => {
  const { nodeAt } = aHost();
  const before = nodeAt(9);
  const base = await before.take();
  before.close();
  expect(await nodeAt(9).take()).toBe(base);
});
