import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { groupName } from '#services/node/cgroups/groups.ts';
import { testFleet } from './sandboxes.ts';

/** What the node of a state folder has on this machine now, one line each. */
export async function leftBy(stateFolder: string): Promise<readonly string[]> {
  const found = await Promise.all([
    processesOf(stateFolder),
    mountsOf(stateFolder),
    groupsOf(stateFolder),
    sandboxFoldersOf(stateFolder),
  ]);
  return found.flat();
}

/** Fails when anything is left of a node: processes, mounts, control groups, sandboxes' folders. */
export async function expectNothingLeft(stateFolder: string): Promise<void> {
  const left = await leftBy(stateFolder);
  if (left.length > 0) throw new Error(`left behind by the node in ${stateFolder}:\n${left.join('\n')}`);
}

/** Processes that were started for the folder, or that see it mounted: every process inside a sandbox does. */
export async function processesOf(stateFolder: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  const lines = await Promise.all(
    pids.map(async (pid) => {
      const traces = await Promise.all(['environ', 'mountinfo'].map((file) => read(`/proc/${pid}/${file}`)));
      return traces.join('').includes(stateFolder)
        ? [`process ${pid}: ${(await read(`/proc/${pid}/cmdline`)).replaceAll('\0', ' ')}`]
        : [];
    }),
  );
  return lines.flat();
}

async function mountsOf(stateFolder: string): Promise<readonly string[]> {
  const mounts = (await read('/proc/self/mountinfo')).split('\n');
  return mounts.filter((line) => line.includes(stateFolder)).map((line) => `mount ${line}`);
}

async function groupsOf(stateFolder: string): Promise<readonly string[]> {
  const root = '/sys/fs/cgroup';
  const bases = [root, ...(await readdir(root).catch(() => [])).map((name) => join(root, name))];
  const folders = bases.map((base) => join(base, 'corral', groupName(testFleet, stateFolder)));
  const found = await Promise.all(
    folders.map((folder) =>
      readdir(folder, { withFileTypes: true }).then(
        (entries) => entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name)),
        () => [],
      ),
    ),
  );
  return found.flat().map((folder) => `control group ${folder}`);
}

async function sandboxFoldersOf(stateFolder: string): Promise<readonly string[]> {
  const names = await readdir(join(stateFolder, 'sandboxes')).catch(() => []);
  return names.map((name) => `folder of sandbox ${name}`);
}

// Processes end while we read, and kernel threads have nothing to read.
const read = (file: string) => readFile(file, 'utf8').catch(() => '');
