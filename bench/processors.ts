import { lstat, mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { detectLayout } from '#services/node/cgroups/create-groups.ts';
import { groupName } from '#services/node/cgroups/groups.ts';
import { familyOf } from './processes.ts';

/** What a living process has had of the processors so far, all its threads; to the nanosecond, where `stat` counts by 10 ms. */
export async function processMs(pid: number): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const texts = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/schedstat`, 'utf8').catch(() => '0')),
  );
  return texts.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1e6;
}

/** What living processes and those children that they have waited for have had, as `/proc` counts it: in steps of 10 ms, and of nobody else. */
export async function seenMs(pids: readonly number[]): Promise<number> {
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')));
  return stats.reduce((sum, stat) => sum + ticksIn(stat) * 10, 0);
}

/** Fields 14 to 17 of `man 5 proc_pid_stat`, counted from the last `)`: the second may hold anything. */
const ticksIn = (stat: string): number =>
  stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .reduce((sum, ticks) => sum + Number(ticks), 0);

/** What all processors of this machine have worked so far, for whomever. */
export async function machineMs(): Promise<number> {
  const line = (await readFile('/proc/stat', 'utf8')).split('\n')[0] ?? '';
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line.split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq) * 10;
}

/** The kernel's account of what a process has started, and what that has started: also of those that have ended. */
export type OffspringAccount = AsyncDisposable & { usedMs(): Promise<number> };

/**
 * Of sandboxes and their launches. /proc forgets who has ended and rounds the others, and of a start most processes live for
 * some milliseconds. Where control groups are a tree for each controller, node's groups do not count processors: its process
 * and all that it has started join a group of ours that does. Where they are one tree, node's own groups count, launches
 * from the moment at which they join them.
 */
export async function openOffspringAccount(
  pid: number,
  of: { readonly fleet: string; readonly stateFolder: string },
): Promise<OffspringAccount> {
  const counting = await countingHierarchy();
  if (counting !== null) return ownGroup(counting, pid);
  const [tree] = (await detectLayout()).hierarchies;
  if (tree === undefined) throw new Error('no control groups here: nobody counts what sandboxes use');
  const folder = join(tree.base, 'corral', groupName(of.fleet, of.stateFolder));
  return { usedMs: () => groupMs(folder), [Symbol.asyncDispose]: async () => undefined };
}

/** A tree in which node makes no groups, so that who is put there stays. A link leads to one that it shares with `cpu`. */
async function countingHierarchy(): Promise<string | null> {
  for (const name of ['cpuacct', 'unified']) {
    const folder = join('/sys/fs/cgroup', name);
    const found = await lstat(folder).catch(() => null);
    if (found?.isDirectory() === true) return folder;
  }
  return null;
}

async function ownGroup(hierarchy: string, pid: number): Promise<OffspringAccount> {
  const folder = join(hierarchy, `corral-bench-${process.pid}-${pid}`);
  await mkdir(folder);
  // Twice: what was started while the others joined has joined with its parent or is found now.
  for (let pass = 0; pass < 2; pass += 1) await move(await familyOf(pid), folder);
  return {
    usedMs: async () => (await groupMs(folder)) - (await processMs(pid)),
    [Symbol.asyncDispose]: () => leave(folder, hierarchy),
  };
}

async function move(pids: readonly (number | string)[], folder: string): Promise<void> {
  for (const pid of pids) await writeFile(join(folder, 'cgroup.procs'), String(pid)).catch(unlessEnded);
}

/** A group with members cannot be removed; a dying one stays for a moment. */
async function leave(folder: string, parent: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const members = (await readFile(join(folder, 'cgroup.procs'), 'utf8')).split('\n').filter(Boolean);
    await move(members, parent);
    const left = await rmdir(folder).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (left === null) return;
    if (tries >= mostTries) throw left;
    await sleep(triedAgainMs);
  }
}

const mostTries = 100;
const triedAgainMs = 50;

async function groupMs(folder: string): Promise<number> {
  const ns = await readFile(join(folder, 'cpuacct.usage'), 'utf8').catch(() => null);
  if (ns !== null) return Number(ns) / 1e6;
  const stat = await readFile(join(folder, 'cpu.stat'), 'utf8');
  return Number(/^usage_usec (\d+)$/m.exec(stat)?.[1] ?? Number.NaN) / 1e3;
}

function unlessEnded(thrown: unknown): void {
  if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH')) throw thrown;
}
