import {
  graderMountPoint,
  gradersOwnRoot,
  ownFolder,
  payloadMountPoint,
} from '#src/protocol/sandboxd/payload-layout.ts';
import { isAtOrBelow } from '#src/protocol/sandboxd/at-or-below.ts';

/** Where things are inside every sandbox. Part of what environments may rely on. */
export const places = {
  workspace: '/workspace',
  temporary: '/tmp',
  /** For what shall outlive a restart, which a sandbox never has. */
  keptTemporary: '/var/tmp',
  /** All that is Corral's. */
  own: ownFolder,
  payload: payloadMountPoint,
  /** Graders' own disk, which only root may list and the policy may not enter. */
  grader: graderMountPoint,
  /** The root of graders if commands may write their own, in a folder that only sandboxd may enter. */
  graders: gradersOwnRoot,
  graderRoot: `${gradersOwnRoot}/root`,
  /** sandboxd's own folder; its socket is in it. Commands cannot enter. */
  daemon: `${ownFolder}/daemon`,
  /** This sandbox's own control group, read-only, where programs look for their limits; absent if this host has no groups. */
  group: '/sys/fs/cgroup',
} as const;

export const sandboxSocketName = 'd.sock';

/** A template's data may not hide what every sandbox has. */
const reserved = ['/proc', '/dev', '/sys', ownFolder, '/run'];
const whole: ReadonlySet<string> = new Set(['/', places.workspace, places.temporary]);

export function isReserved(target: string): boolean {
  return whole.has(target) || reserved.some((place) => isAtOrBelow(target, place));
}

/** The user whose id commands run under, and the grader's. Never ids of people on this host: nothing here is theirs. */
export const policyId = 1000;
export const graderId = 1001;
/** Who answers queries of databases. */
export const queriesId = 1002;

/** The home of commands whose user has none in the image. */
export const policyHome = '/home/policy';

/** The kernel keeps a socket's path in 108 bytes, the last of them zero. */
export const longestSocketPath = 107;

/** `users`: how sandboxd runs commands; `single-user` wherever node is not root. */
export type Users = 'two-user' | 'single-user' | 'root';
