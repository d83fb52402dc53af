import { Type } from 'typebox';
import { type Check, tryOut } from './check.ts';
import { probeArgv, type ProbedSandbox, probeSandbox } from './probe-sandbox.ts';

const Disk = Type.Object({ place: Type.String(), bytes: Type.Number() });
const Found = Type.Object({
  disks: Type.Array(Disk),
  /** The largest file that a command may write; null: no limit, since the sandbox has a disk of its own. */
  largestFileBytes: Type.Union([Type.Number(), Type.Null()]),
  uidMap: Type.String(),
  /** Commands are root, and may not change owners. */
  isWeakRoot: Type.Boolean(),
  inotifyInstances: Type.Number(),
  cgroupVersion: Type.Number(),
});
export type Shared = Type.Static<typeof Found>;

/**
 * What a sandbox shares with others of its node, where a neighbor can take all of it: disk without a quota, user ids, and on
 * version 1 of control groups the memory of connections. It is no fault of the environment, and decides nothing: only a better node
 * prevents it.
 */
export function checkShared(under: ProbedSandbox): Promise<Check> {
  return tryOut(under.environment, 'what it shares with its machine', async () => ({
    ok: true,
    detail: describeShared(await probeSandbox(under, findSharedArgv(), 30, Found)),
  }));
}

export function findSharedArgv(): readonly string[] {
  return probeArgv(`console.log(JSON.stringify((${findShared.toString()})()))`);
}

/** Travels as text: it may name nothing outside itself. */
export function findShared(): Shared {
  const fs = process.getBuiltinModule('node:fs');
  const text = (file: string) => {
    try {
      return fs.readFileSync(file, 'utf8');
    } catch {
      return '';
    }
  };
  const places = [...new Set([process.cwd(), '/', '/tmp'])];
  const mayChangeOwners = /^CapEff:\t[0-9a-f]{0,15}[13579bdf]$/m.test(text('/proc/self/status'));
  const limit = Number(/^Max file size {1,40}(\d+)/m.exec(text('/proc/self/limits'))?.[1]);
  return {
    disks: places.map((place) => {
      const { bsize, blocks } = fs.statfsSync(place);
      return { place, bytes: bsize * blocks };
    }),
    largestFileBytes: Number.isNaN(limit) ? null : limit,
    uidMap: text('/proc/self/uid_map').trim().replace(/\s+/g, ' '),
    isWeakRoot: process.getuid?.() === 0 && !mayChangeOwners,
    inotifyInstances: Number(text('/proc/sys/fs/inotify/max_user_instances')),
    cgroupVersion: fs.existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1,
  };
}

const gibibyte = 1024 ** 3;
/** All ids, each as itself: those of the machine. */
const allIds = '0 0 4294967295';

export function describeShared(found: Shared): string {
  const parts = [sharedDisk, sharedIds, sharedWatches, sharedSockets]
    .map((share) => share(found))
    .filter((part) => part !== null);
  if (parts.length === 0) return 'nothing that a neighbor could take: its disk and its user ids are its own';
  return `${parts.join('; ')}; next: see "What only a better node prevents" in docs/nodes.md`;
}

/** A disk of up to twice the limit is a volume of the sandbox's own, as sandboxd counts it. */
function sharedDisk({ disks, largestFileBytes }: Shared): string | null {
  const shared = disks.filter(({ bytes }) => largestFileBytes !== null && bytes > 2 * largestFileBytes);
  if (shared.length === 0) return null;
  const sizes = shared.map(({ place, bytes }) => `${place} (${Math.round(bytes / gibibyte)} GiB)`);
  return `the disk below ${sizes.join(', ')}, which has no quota: one that fills it makes the others discards`;
}

function sharedIds({ uidMap, isWeakRoot }: Shared): string | null {
  if (uidMap !== allIds) return null;
  const taken = 'one that takes them all makes the others discards';
  const ids = `the user ids of the node, with pipes, pending signals and message queues of user 1000: ${taken}`;
  if (!isWeakRoot) return ids;
  return `${ids}; therefore its root cannot change owners or install packages, and a task that needs this fails`;
}

/** In pods also with ids of their own: the kernel counts them for the runtime's root, too. One machine's sandboxes have one each. */
const sharedWatches = ({ largestFileBytes, inotifyInstances }: Shared): string | null =>
  largestFileBytes === null
    ? null
    : `all ${inotifyInstances} inotify instances that the node grants to a user, in the same way`;

/** Without own ids it is a pod; on one machine `limit-sockets` bounds them. */
const sharedSockets = ({ uidMap, cgroupVersion }: Shared): string | null =>
  cgroupVersion === 1 && uidMap === allIds
    ? 'memory of connections, which control groups of version 1 charge to no pod'
    : null;
