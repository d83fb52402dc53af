import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  cpuPeriod,
  cpuQuotaUs,
  cpuWeight,
  type GroupLayout,
  type GroupLimits,
  noGroups,
  type Setting,
} from './groups.ts';

const controllers = {
  memory: 'the memory limit',
  pids: 'the limit of processes',
  cpu: 'the CPU limit',
} as const;
type Controller = keyof typeof controllers;

/**
 * cgroup v2: one tree for all controllers. `base` is a group that we may write: the root on a machine of our own, or a
 * delegated subtree (systemd `Delegate=yes`, a container's own group). Groups may have limits only where their parent
 * hands the controllers down, and a parent may do that only while no process lives in it: so this process first moves
 * into a leaf of its own.
 */
export async function v2Layout(base: string): Promise<GroupLayout> {
  const offered = await offeredControllers(base);
  const enabled = await handDown(base, offered);
  if (enabled.length === 0) return noGroups;
  const memory = enabled.includes('memory');
  return {
    version: 'v2',
    hierarchies: [{ base, settings: (limits) => settingsOf(limits, enabled) }],
    memoryKills: memory ? { base, file: 'memory.events' } : null,
    // Counted for every group, also without the controller.
    cpuTime: { base, file: 'cpu.stat' },
    limitations: (Object.keys(controllers) as Controller[])
      .filter((name) => !enabled.includes(name))
      .map(
        (name) =>
          `The cgroup controller "${name}" is not delegated to ${base}: ${controllers[name]} is not enforced.`,
      ),
  };
}

/** Lets groups below `folder` have these controllers; returns those that the kernel allowed. */
async function handDown(folder: string, wanted: readonly Controller[]): Promise<readonly Controller[]> {
  await enable(folder, wanted);
  if ((await enabledIn(folder)).length < wanted.length) {
    await moveIntoLeaf(folder);
    await enable(folder, wanted);
  }
  const enabled = await enabledIn(folder);
  return wanted.filter((name) => enabled.includes(name));
}

/** The same for a group of our own making, in which no process lives: whatever it was given, it hands on. */
export async function handOn(folder: string): Promise<void> {
  await enable(folder, await offeredControllers(folder));
}

function settingsOf(limits: GroupLimits, enabled: readonly Controller[]): readonly Setting[] {
  const all: Record<Controller, readonly Setting[]> = {
    memory: [
      { file: 'memory.max', value: String(limits.memoryBytes) },
      { file: 'memory.swap.max', value: '0' },
    ],
    pids: [{ file: 'pids.max', value: String(limits.tasks) }],
    cpu: [
      { file: 'cpu.max', value: `${cpuQuotaUs(limits.cpuMilli)} ${cpuPeriod}` },
      { file: 'cpu.weight', value: String(cpuWeight(limits.cpuShareMilli)) },
    ],
  };
  return enabled.flatMap((name) => all[name]);
}

async function offeredControllers(base: string): Promise<readonly Controller[]> {
  const words = await wordsOf(join(base, 'cgroup.controllers'));
  return (Object.keys(controllers) as Controller[]).filter((name) => words.includes(name));
}

const enabledIn = (folder: string) => wordsOf(join(folder, 'cgroup.subtree_control'));

// One write for each: the kernel refuses a whole line for one controller that it does not have.
async function enable(folder: string, names: readonly Controller[]): Promise<void> {
  const already = await enabledIn(folder);
  for (const name of names.filter((each) => !already.includes(each))) {
    await writeFile(join(folder, 'cgroup.subtree_control'), `+${name}`).catch(() => undefined);
  }
}

async function moveIntoLeaf(folder: string): Promise<void> {
  const leaf = join(folder, 'corral-node');
  try {
    await mkdir(leaf, { recursive: true });
    await writeFile(join(leaf, 'cgroup.procs'), String(process.pid));
  } catch {
    // Not ours to write: then the controllers stay off, which the limitations say.
  }
}

const wordsOf = (file: string) =>
  readFile(file, 'utf8').then(
    (text) => text.split(/\s+/).filter((word) => word !== ''),
    () => [] as string[],
  );
