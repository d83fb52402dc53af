import { constants, existsSync } from 'node:fs';
import { access, mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from './until.ts';

const root = '/sys/fs/cgroup';
const unified = () => existsSync(join(root, 'cgroup.controllers'));

/**
 * The control group of a node: one folder in each hierarchy (version 1), or one folder (version 2). Every process of the
 * node, its containers' included, is below it, so this is how all of them are found when the node is taken away.
 */
export async function makeControlGroup(name: string): Promise<void> {
  if (unified()) return makeUnifiedGroup(name);
  for (const hierarchy of await hierarchies()) {
    const folder = join(root, hierarchy, name);
    await mkdir(folder, { recursive: true });
    if (hierarchy === 'cpuset') await inheritProcessors(folder);
  }
}

/** The file into which a process writes its pid to become one of the node's own, beside the pods. */
export async function ownProcesses(name: string): Promise<string> {
  const folder = join(unified() ? root : join(root, 'pids'), name, 'own');
  await mkdir(folder, { recursive: true });
  return join(folder, 'cgroup.procs');
}

/** Kills every process of the group and removes it. What forks while it dies is met in the next round. */
export async function removeControlGroup(name: string): Promise<void> {
  await until({ what: `the end of every process of ${name}`, timeoutMs: 20_000 }, async () => {
    const pids = await processesIn(name);
    for (const pid of pids) kill(pid);
    return pids.length === 0;
  });
  for (const folder of await foldersOf(name)) await removeTree(folder);
}

export async function processesIn(name: string): Promise<readonly number[]> {
  const trees = await Promise.all((await foldersOf(name)).map(subtree));
  const lists = await Promise.all(
    trees.flat().map((folder) => readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')),
  );
  const pids = lists.flatMap((list) => list.split('\n').filter((line) => line !== ''));
  // 0 stands for a process that is outside our own pid namespace.
  return [...new Set(pids.map(Number))].filter((pid) => pid > 0);
}

/** Every folder that is, or is named like, the group: what is left of it. */
export async function foldersOf(name: string): Promise<readonly string[]> {
  const places = unified() ? [root] : (await allHierarchies()).map((hierarchy) => join(root, hierarchy));
  return places.map((place) => join(place, name)).filter((folder) => existsSync(folder));
}

async function makeUnifiedGroup(name: string): Promise<void> {
  const controllers = (await readFile(join(root, 'cgroup.controllers'), 'utf8')).trim().split(' ');
  const all = controllers.map((controller) => `+${controller}`).join(' ');
  await writeFile(join(root, 'cgroup.subtree_control'), all);
  await mkdir(join(root, name), { recursive: true });
  await writeFile(join(root, name, 'cgroup.subtree_control'), all);
}

/** Hierarchies that we may write; `cpu,cpuacct` and its like are links to the same folder and do no harm. */
async function hierarchies(): Promise<readonly string[]> {
  const all = await allHierarchies();
  const writable = await Promise.all(
    all.map((name) =>
      access(join(root, name), constants.W_OK).then(
        () => [name],
        () => [],
      ),
    ),
  );
  return writable.flat();
}

async function allHierarchies(): Promise<readonly string[]> {
  const names = await readdir(root).catch(() => []);
  return names.filter((name) => existsSync(join(root, name, 'cgroup.procs')));
}

/** A new cpuset is empty, and nothing can run in it. */
async function inheritProcessors(folder: string): Promise<void> {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    await writeFile(join(folder, file), await readFile(join(root, 'cpuset', file)));
  }
  await writeFile(join(folder, 'cgroup.clone_children'), '1');
}

async function subtree(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const below = entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
  return [...(await Promise.all(below.map(subtree))).flat(), folder];
}

async function removeTree(folder: string): Promise<void> {
  // A group whose last process has just died may be busy for a moment.
  await until({ what: `the removal of ${folder}`, timeoutMs: 5_000 }, async () => {
    for (const each of await subtree(folder)) await rmdir(each).catch(() => undefined);
    return !existsSync(folder);
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended in between.
  }
}
