import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { nodeSocketName } from '#src/protocol/node/wire.ts';
import { CommandError } from '../command-error.ts';

/** Where a fleet on one machine keeps everything. Only the owner may enter: keys and sandboxes' files are in it. */
export type StateFolder = {
  readonly root: string;
  readonly lock: string;
  /** Who we are and where: what reading commands look for. */
  readonly fleetFile: string;
  readonly parts: string;
  readonly logs: string;
  readonly redis: string;
  readonly redisSocket: string;
  readonly node: string;
  readonly nodeSocket: string;
  readonly payload: string;
  /** What environments' programs have made. */
  readonly data: string;
  readonly events: string;
  readonly keysFile: string;
  readonly fleetKeyFile: string;
  readonly developmentKeyFile: string;
};

/** `CORRAL_STATE` is set in an image whose commands all mean one fleet. */
export const defaultStateFolder: string = process.env['CORRAL_STATE'] || '.corral';

/** The kernel's bound on the path of a unix socket (108 with its end mark). */
const longestSocketPath = 107;
/** The longest socket path below the root is one sandbox's own; node leaves room for an id of 32. */
const longestBelowRoot = `/node/sandboxes/${'x'.repeat(32)}/run/d.sock`.length;

export function stateFolderAt(root: string): StateFolder {
  return {
    root,
    lock: join(root, 'up.lock'),
    fleetFile: join(root, 'fleet.json'),
    parts: join(root, 'parts'),
    logs: join(root, 'logs'),
    redis: join(root, 'redis'),
    redisSocket: join(root, 'redis', 'redis.sock'),
    node: join(root, 'node'),
    nodeSocket: join(root, 'node', nodeSocketName),
    payload: join(root, 'payload'),
    data: join(root, 'data'),
    events: join(root, 'events'),
    keysFile: join(root, 'keys.json'),
    fleetKeyFile: join(root, 'fleet.key'),
    developmentKeyFile: join(root, 'development.key'),
  };
}

/** Makes the folder (0700). Throws a CommandError where its sockets' paths would be too long for the kernel. */
export function openStateFolder(path: string): StateFolder {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const root = realpathSync(path);
  const spare = longestSocketPath - longestBelowRoot - Buffer.byteLength(root);
  if (spare < 0) {
    throw new CommandError(
      `the path of the state folder is ${-spare} characters too long for unix sockets: ${root}`,
      'yours',
      'give a shorter one with --state, e.g. --state /tmp/corral',
    );
  }
  const folder = stateFolderAt(root);
  for (const part of [folder.redis, folder.node, folder.logs, folder.events]) {
    mkdirSync(part, { recursive: true, mode: 0o700 });
  }
  return folder;
}
