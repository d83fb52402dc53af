import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { groupName } from '#services/node/cgroups/groups.ts';
import { processesOf } from './left-behind.ts';

/** What a fleet in this state folder has on this machine now, one line each: processes, sockets, mounts, groups, sandboxes' folders. */
export async function fleetLeftBy(root: string): Promise<readonly string[]> {
  const looks = [processesOf, redisOf, socketsOf, mountsOf, groupsOf, sandboxFoldersOf];
  return (await Promise.all(looks.map((look) => look(root)))).flat();
}

async function socketsOf(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isSocket())
    .map(({ parentPath, name }) => `socket ${parentPath}/${name}`);
}

async function sandboxFoldersOf(root: string): Promise<readonly string[]> {
  const names = await readdir(join(root, 'node', 'sandboxes')).catch(() => []);
  return names.map((name) => `folder of sandbox ${name}`);
}

/** Redis is told its folder by arguments only. */
async function redisOf(root: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map(async (pid) => ({ pid, command: await read(`/proc/${pid}/cmdline`) })),
  );
  return lines
    .filter(({ command }) => command.startsWith('redis-server') && command.includes(root))
    .map(({ pid, command }) => `process ${pid}: ${command.replaceAll('\0', ' ')}`);
}

async function mountsOf(root: string): Promise<readonly string[]> {
  return (await read('/proc/self/mountinfo')).split('\n').filter((line) => line.includes(root));
}

async function groupsOf(root: string): Promise<readonly string[]> {
  const cgroups = '/sys/fs/cgroup';
  const bases = [cgroups, ...(await readdir(cgroups).catch(() => [])).map((name) => join(cgroups, name))];
  const groups = bases.map((base) => join(base, 'corral', groupName('local', join(root, 'node'))));
  const found = await Promise.all(
    groups.map(async (group) => {
      const entries = await readdir(group, { withFileTypes: true }).catch(() => []);
      return entries
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => `control group ${group}/${name}`);
    }),
  );
  return found.flat();
}

const read = (file: string) => readFile(file, 'utf8').catch(() => '');
