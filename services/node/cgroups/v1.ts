import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { cpuPeriod, cpuQuotaUs, cpuShares, type GroupLayout, type Hierarchy, noGroups } from './groups.ts';

const controllers = {
  memory: 'the memory limit',
  pids: 'the limit of processes',
  cpu: 'the CPU limit',
} as const;
type Controller = keyof typeof controllers;

/** cgroup v1: one hierarchy for each controller below `root`, `/sys/fs/cgroup/memory` and so on. */
export async function v1Layout(root: string): Promise<GroupLayout> {
  const names = Object.keys(controllers) as Controller[];
  const writable = await Promise.all(names.map((name) => isWritable(join(root, name))));
  const present = names.filter((_, index) => writable[index] === true);
  if (present.length === 0) return noGroups;
  const countsSwap = await exists(join(root, 'memory', 'memory.memsw.limit_in_bytes'));
  const countsSockets = await exists(join(root, 'memory', socketsFile));
  const memory = present.includes('memory');
  const accounts = join(root, 'cpuacct');
  const countsTime = await isWritable(accounts);
  return {
    version: 'v1',
    hierarchies: [
      ...present.map((name) => hierarchy(root, name, { countsSwap, countsSockets })),
      ...(countsTime ? [{ base: accounts, settings: () => [] }] : []),
    ],
    memoryKills: memory ? { base: join(root, 'memory'), file: 'memory.oom_control' } : null,
    cpuTime: countsTime ? { base: accounts, file: 'cpuacct.usage' } : null,
    limitations: [
      ...names.filter((name) => !present.includes(name)).map(unenforced),
      ...(memory && !countsSwap ? ['Swap is not counted into the memory limit on this host.'] : []),
      ...(memory && !countsSockets
        ? ['What TCP sockets hold is not counted into the memory limit here.']
        : []),
    ],
  };
}

const unenforced = (name: Controller) =>
  `The cgroup controller "${name}" cannot be written on this host: ${controllers[name]} is not enforced.`;

type Counted = { readonly countsSwap: boolean; readonly countsSockets: boolean };

/**
 * On v1 the memory limit leaves out what TCP sockets hold, and that of all is one number for the whole machine
 * (`tcp_mem`): over the loopback one sandbox could take it up, and then nobody's connections get any, the gateway's
 * included. This is enough for any traffic within a sandbox; more makes its own writers wait. v2 counts it as memory.
 */
const socketsFile = 'memory.kmem.tcp.limit_in_bytes';
const mostSocketBytes = 32 * 1024 * 1024;

function hierarchy(root: string, name: Controller, { countsSwap, countsSockets }: Counted): Hierarchy {
  const base = join(root, name);
  switch (name) {
    case 'memory':
      return {
        base,
        // The plain limit first: the kernel keeps it at or below the one with swap.
        settings: ({ memoryBytes }) => [
          { file: 'memory.limit_in_bytes', value: String(memoryBytes) },
          ...(countsSwap ? [{ file: 'memory.memsw.limit_in_bytes', value: String(memoryBytes) }] : []),
          ...(countsSockets ? [{ file: socketsFile, value: String(mostSocketBytes) }] : []),
        ],
      };
    case 'pids':
      return { base, settings: ({ tasks }) => [{ file: 'pids.max', value: String(tasks) }] };
    case 'cpu':
      return {
        base,
        settings: ({ cpuMilli, cpuShareMilli }) => [
          { file: 'cpu.cfs_period_us', value: cpuPeriod },
          { file: 'cpu.cfs_quota_us', value: String(cpuQuotaUs(cpuMilli)) },
          { file: 'cpu.shares', value: String(cpuShares(cpuShareMilli)) },
        ],
      };
  }
}

async function isWritable(path: string): Promise<boolean> {
  // A mounted hierarchy has cgroup.procs; a mere folder of that name has not.
  return (await allows(join(path, 'cgroup.procs'), constants.W_OK)) && allows(path, constants.W_OK);
}

const exists = (path: string) => allows(path, constants.F_OK);

const allows = (path: string, mode: number) =>
  access(path, mode).then(
    () => true,
    () => false,
  );
