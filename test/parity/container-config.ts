import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import type { User } from './probes.ts';

/*
 * Docker's default settings in the words of the OCI runtime specification, as `daemon/pkg/oci/defaults.go` of github.com/moby/moby has
 * them. `system-calls-of-docker.json` is `default.json` of github.com/moby/profiles/seccomp v0.3.0 (Apache-2.0).
 */

const capabilities = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FSETID',
  'FOWNER',
  'MKNOD',
  'NET_RAW',
  'SETGID',
  'SETUID',
  'SETFCAP',
  'SETPCAP',
  'NET_BIND_SERVICE',
  'SYS_CHROOT',
  'KILL',
  'AUDIT_WRITE',
].map((name) => `CAP_${name}`);
const masked =
  '/proc/asound /proc/acpi /proc/interrupts /proc/kcore /proc/keys /proc/latency_stats /proc/timer_list /proc/timer_stats /proc/sched_debug /proc/scsi /sys/firmware /sys/devices/virtual/powercap';
const readOnly = '/proc/bus /proc/fs /proc/irq /proc/sys /proc/sysrq-trigger';
const namespaces = ['pid', 'network', 'ipc', 'uts', 'mount', 'cgroup'];
/** null, zero, full, random, urandom, tty, console, ptmx; and all pseudo terminals. */
const characterDevices = [
  [1, 3],
  [1, 5],
  [1, 7],
  [1, 8],
  [1, 9],
  [5, 0],
  [5, 1],
  [5, 2],
];

/** `cgroup`: where the container competes for processors; null: where runc puts it, as Docker's defaults have it. */
export type Limits = { readonly memoryBytes: number | null; readonly cgroup: string | null };

export function containerConfig(folder: string, host: string, { memoryBytes, cgroup }: Limits): object {
  return {
    ociVersion: '1.0.2',
    hostname: host,
    root: { path: 'rootfs', readonly: false },
    process: { terminal: false, cwd: '/', args: ['sleep', 'infinity'], ...processOf('root', host, {}) },
    mounts: mountsOf(folder),
    linux: {
      ...(cgroup !== null && { cgroupsPath: cgroup }),
      namespaces: namespaces.map((type) => ({ type })),
      maskedPaths: masked.split(' '),
      readonlyPaths: readOnly.split(' '),
      seccomp: seccomp(),
      sysctl: { 'net.ipv4.ip_unprivileged_port_start': '0', 'net.ipv4.ping_group_range': '0 2147483647' },
      resources: {
        devices: devices(),
        ...(memoryBytes !== null && { memory: { limit: memoryBytes, swap: memoryBytes } }),
      },
    },
  };
}

const mount = (destination: string, type: string, source: string, ...options: readonly string[]) => ({
  destination,
  type,
  source,
  options,
});

function mountsOf(folder: string): readonly object[] {
  const safe = ['nosuid', 'noexec', 'nodev'];
  return [
    mount('/proc', 'proc', 'proc', ...safe),
    mount('/dev', 'tmpfs', 'tmpfs', 'nosuid', 'strictatime', 'mode=755', 'size=65536k'),
    mount(
      '/dev/pts',
      'devpts',
      'devpts',
      'nosuid',
      'noexec',
      'newinstance',
      'ptmxmode=0666',
      'mode=0620',
      'gid=5',
    ),
    mount('/sys', 'sysfs', 'sysfs', ...safe, 'ro'),
    mount('/sys/fs/cgroup', 'cgroup', 'cgroup', 'ro', ...safe),
    mount('/dev/mqueue', 'mqueue', 'mqueue', ...safe),
    mount('/dev/shm', 'tmpfs', 'shm', ...safe, 'mode=1777', 'size=65536k'),
    ...['hostname', 'hosts', 'resolv.conf'].map((name) =>
      mount(`/etc/${name}`, 'bind', join(folder, name), 'rbind', 'rprivate'),
    ),
  ];
}

function devices(): readonly object[] {
  const allow = true;
  return [
    { allow: false, access: 'rwm' },
    ...characterDevices.map(([major, minor]) => ({ allow, type: 'c', major, minor, access: 'rwm' })),
    { allow, type: 'c', major: 136, access: 'rwm' },
    { allow, type: 'c', access: 'm' },
    { allow, type: 'b', access: 'm' },
  ];
}

const homes = { root: '/root', user: '/home/dev' };

export function processOf(user: User, host: string, env: Readonly<Record<string, string>>): object {
  const id = user === 'root' ? 0 : 1000;
  const held = user === 'root' ? capabilities : [];
  const variables = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOSTNAME: host,
    HOME: homes[user],
    ...env,
  };
  return {
    user: { uid: id, gid: id, additionalGids: [id], umask: 0o022 },
    env: Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    capabilities: { bounding: capabilities, effective: held, permitted: held, inheritable: [] },
    noNewPrivileges: false,
    oomScoreAdj: 0,
  };
}

type Rule = {
  readonly names: readonly string[];
  readonly action: string;
  readonly errnoRet?: number;
  readonly args?: readonly object[] | null;
  readonly includes?: {
    readonly caps?: readonly string[];
    readonly arches?: readonly string[];
    readonly minKernel?: string;
  };
  readonly excludes?: { readonly caps?: readonly string[]; readonly arches?: readonly string[] };
};
type Profile = {
  readonly defaultAction: string;
  readonly defaultErrnoRet?: number;
  readonly syscalls: readonly Rule[];
};

const machines = {
  x64: { name: 'amd64', architectures: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86', 'SCMP_ARCH_X32'] },
  arm64: { name: 'arm64', architectures: ['SCMP_ARCH_AARCH64', 'SCMP_ARCH_ARM'] },
};

/** Docker's profile as runc takes it: its conditions (capabilities, architecture, kernel) are decided for this machine. */
function seccomp(): object {
  const machine = process.arch === 'arm64' ? machines.arm64 : machines.x64;
  const profile = JSON.parse(
    readFileSync(join(import.meta.dirname, 'system-calls-of-docker.json'), 'utf8'),
  ) as Profile;
  const holds = ({ includes = {}, excludes = {} }: Rule) =>
    (includes.caps ?? []).every((each) => capabilities.includes(each)) &&
    !(excludes.caps ?? []).some((each) => capabilities.includes(each)) &&
    !(excludes.arches ?? []).includes(machine.name) &&
    (includes.arches ?? [machine.name]).includes(machine.name) &&
    isKernel(includes.minKernel ?? '0.0');
  return {
    defaultAction: profile.defaultAction,
    defaultErrnoRet: profile.defaultErrnoRet ?? 1,
    architectures: machine.architectures,
    // JSON leaves out what is undefined, and runc refuses null.
    syscalls: profile.syscalls
      .filter(holds)
      .map(({ names, action, errnoRet, args }) => ({ names, action, errnoRet, args: args ?? undefined })),
  };
}

function isKernel(least: string): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}
