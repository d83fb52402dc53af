import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { MemoryFiles } from '#src/platform/memory-account.ts';
import type { Clock } from '#src/ports/clock.ts';
import { type Group, type GroupLayout, type GroupLimits, type Groups, noGroups } from './groups.ts';
import { v1Layout } from './v1.ts';
import { handOn, v2Layout } from './v2.ts';

/** How long members of a killed group may take to leave it, and how often we look: the kernel has no event for it on v1. */
const leaveMs = 2000;
const lookEveryMs = 5;

/** Groups at `corral/<fleet>/<sandbox>`; `fleet` must be unique to this node's state folder. */
export function createGroups(layout: GroupLayout, fleet: string, clock: Clock): Groups {
  const above = layout.hierarchies.map(({ base }) => join(base, 'corral', fleet));
  const open = (sandbox: string): Group => {
    const folders = above.map((folder) => join(folder, sandbox));
    return {
      joinFiles: folders.map((folder) => join(folder, 'cgroup.procs')),
      folders: layout.hierarchies.map(({ base }, index) => ({
        path: folders[index] ?? '',
        hierarchy: layout.version === 'v2' ? '' : basename(base),
      })),
      memory: memoryOf(layout, fleet, sandbox),
      cpuTimeFile: fileIn(layout.cpuTime, fleet, sandbox),
      members: () => [...new Set(folders.flatMap(membersOf))],
      remove: async () => void (await Promise.all(folders.map((folder) => removeFolder(folder, clock)))),
    };
  };
  return {
    version: layout.version,
    folder: above[0] ?? null,
    limitations: layout.limitations,
    open,
    create: async (sandbox, limits) => {
      await make(layout, above, sandbox, limits);
      return open(sandbox);
    },
    list: async () => [...new Set((await Promise.all(above.map(foldersIn))).flat())],
    close: async () => {
      for (const corral of above.map((folder) => dirname(folder))) await removeEmpty(corral);
    },
  };
}

/** Not by another thread: the kernel's files are memory, and a start writes ten of them. */
async function make(layout: GroupLayout, above: readonly string[], sandbox: string, limits: GroupLimits) {
  for (const [index, { settings }] of layout.hierarchies.entries()) {
    const parent = above[index] ?? '';
    const folder = join(parent, sandbox);
    mkdirSync(parent, { recursive: true });
    if (layout.version === 'v2') await handOnTo(parent);
    mkdirSync(folder, { recursive: true });
    for (const { file, value } of settings(limits)) writeFileSync(join(folder, file), value);
  }
}

async function handOnTo(parent: string): Promise<void> {
  for (const folder of [dirname(parent), parent]) await handOn(folder);
}

/** No limit of ours stands above a sandbox's group: what is refused to it is counted there. */
function memoryOf({ memoryKills }: GroupLayout, fleet: string, sandbox: string): MemoryFiles | null {
  const kills = fileIn(memoryKills, fleet, sandbox);
  return kills === null ? null : { kills, limitAlsoAbove: false };
}

const fileIn = (where: GroupLayout['memoryKills'], fleet: string, sandbox: string): string | null =>
  where === null ? null : join(where.base, 'corral', fleet, sandbox, where.file);

function membersOf(folder: string): readonly number[] {
  try {
    return readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

const foldersIn = (folder: string) =>
  readdir(folder, { withFileTypes: true }).then(
    (entries) => entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name),
    () => [] as string[],
  );

async function removeFolder(folder: string, clock: Clock): Promise<void> {
  const until = clock.monotonicMs() + leaveMs;
  for (;;) {
    try {
      return await rmdir(folder);
    } catch (thrown) {
      const code = thrown instanceof Error && 'code' in thrown ? thrown.code : null;
      if (code === 'ENOENT') return;
      if (code !== 'EBUSY' || clock.monotonicMs() > until) throw thrown;
      await clock.sleep(lookEveryMs);
    }
  }
}

/**
 * Nodes' folders without a sandbox, also those of nodes that were killed and never came back; then `corral` itself. The
 * kernel refuses while a group is inside, and a node that has none yet makes its folder again with its first sandbox.
 */
async function removeEmpty(corral: string): Promise<void> {
  for (const name of await foldersIn(corral)) await rmdir(join(corral, name)).catch(() => undefined);
  await rmdir(corral).catch(() => undefined);
}

/**
 * Which control groups this process may make. On v2 the root of the tree where we may write it, else our own group;
 * on v1 (and on hybrid hosts, whose controllers are in v1) the mounted controllers.
 */
export async function detectLayout(
  root = '/sys/fs/cgroup',
  self = '/proc/self/cgroup',
): Promise<GroupLayout> {
  const own = await readFile(self, 'utf8').catch(() => '');
  const path = unifiedPath(own);
  for (const base of path === null ? [] : [root, join(root, path)]) {
    const layout = await v2Layout(base);
    if (layout !== noGroups) return layout;
  }
  return v1Layout(root);
}

/** Our group in the v2 tree, from the line `0::/path` of /proc/self/cgroup; null without one. */
export function unifiedPath(selfCgroup: string): string | null {
  const line = selfCgroup.split('\n').find((each) => each.startsWith('0::'));
  return line === undefined ? null : line.slice('0::'.length);
}
