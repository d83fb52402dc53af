import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { payloadNative, shellClosingFrom } from '#src/protocol/sandboxd/payload-layout.ts';
import { idsInRange } from '../own-ids.ts';
import { idMap, type ImageUser } from './shifted-ids.ts';

export type LaunchSpec = {
  readonly bwrapArguments: readonly string[];
  /** sandboxd's command line inside the sandbox. */
  readonly argv: readonly string[];
  readonly joinFiles: readonly string[];
  /** The payload, as this process sees it: one of its programs is part of the launch. */
  readonly payloadFolder: string;
  /** Our own mounts; null without root, when bubblewrap makes the disk itself. */
  readonly mounts: {
    /** What to mount, as `mount --fstab` reads it. */
    readonly fstab: string;
    readonly disk: DiskPlan | OverlayPlan;
  } | null;
  /**
   * This host's id of the sandbox's user 0, in a user namespace of its own; null: it runs in this process's. The namespace is
   * made under that id and not as root: who makes one pays for what is used in it, so the kernel's limits of a user
   * (inotify, pipes) are then counted for each sandbox apart.
   */
  readonly idBase: number | null;
  /** This host's id of the user that graders run as. */
  readonly graderId: number;
  /** File with the compiled filter of system calls. */
  readonly filterFile: string;
  /** `own-network`, where the ids of the sandbox find it; null: bubblewrap makes the network. */
  readonly network: string | null;
  /** Null: this host cannot limit them. */
  readonly sockets: SocketLimit | null;
};

/** `program`: `limit-sockets`, where the ids of the sandbox find it. */
export type SocketLimit = { readonly program: string; readonly most: number };

/** Where it is mounted, and the empty `workspace` and `tmp` that it begins with, as they are to be. */
export type DiskPlan = { readonly folder: string; readonly from: string };

/** The disk becomes the upper layer of the sandbox's root: `mount-root` mounts it above these layers of an image in the stage. */
export type OverlayPlan = {
  /** Folders, the uppermost first. */
  readonly layers: readonly string[];
  readonly user: ImageUser;
  readonly stage: string;
};

/** The launch's descriptors beside the standard ones; the script and bubblewrap's options name them by number. */
export const descriptors = { options: 3, status: 4, filter: 5, mapped: 6 } as const;

/** How the sandbox's first process ended. `signal` also when bubblewrap reports it as 128 + number. */
export type Ending = {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The end of what bubblewrap and sandboxd wrote to standard error. */
  readonly lastWords: string;
};

export type Launched = {
  /** bubblewrap outside the sandbox, our own child. */
  readonly pid: number;
  /** bubblewrap's process 1 inside, as this node sees it; null when it never came up. */
  readonly initPid: Promise<number | null>;
  readonly ended: Promise<Ending>;
};

/** What `launch` needs of the system; a test gives its own. */
export type Launch = (spec: LaunchSpec) => Promise<Launched>;

/** Enough for a stack trace; it becomes evidence. */
const lastWordsBytes = 2048;

/** bubblewrap writes some 300 characters of status. */
const longestStatus = 4096;

/** Starts bubblewrap as a child of this process. Rejects when not even a shell could be started. */
export const launch: Launch = async (spec) => {
  const child = spawnLaunch(spec);
  const pid = await started(child);
  const pipes = child.stdio as readonly unknown[] as Pipes;
  const [, , stderr, options, status] = pipes;
  send(options, spec.bwrapArguments.map((argument) => `${argument}\0`).join(''));
  const words = lastWordsOf(stderr);
  if (spec.idBase !== null) mapWhenThere(child, pipes, spec.idBase, words.say);
  return { pid, initPid: readInitPid(status), ended: endOf(child, words.read) };
};

/** In the order of {@link descriptors}; the last is there with ids of its own only. */
type Pipes = readonly [null, null, Readable, Writable, Readable, null, Writable];

/** Maps the ids when the launch says that it is in its namespace; inside they are 0 to 65,535. Where this host forbids it, it ends. */
function mapWhenThere(child: ChildProcess, pipes: Pipes, base: number, say: (words: string) => void): void {
  const [, , , , status, , mapped] = pipes;
  status.once('data', () => {
    try {
      for (const file of ['uid_map', 'gid_map'])
        writeFileSync(`/proc/${child.pid}/${file}`, `0 ${base} ${idsInRange}\n`);
      send(mapped, '\n');
    } catch (thrown) {
      say(`its ids could not be mapped: ${String(thrown)}`);
      child.kill('SIGKILL');
    }
  });
}

/** The reader may die before it has read all; its exit says so. */
function send(pipe: Writable, text: string): void {
  pipe.on('error', () => undefined);
  pipe.end(text);
}

/** The filter is opened for each launch: whoever shares a descriptor shares how far it was read. */
function spawnLaunch(spec: LaunchSpec): ChildProcess {
  const filter = openSync(spec.filterFile, 'r');
  try {
    const mapped = spec.idBase === null ? [] : (['pipe'] as const);
    const [program = '', ...args] = commandOf(spec);
    return spawn(program, args, {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe', filter, ...mapped],
      env: environmentOf(spec),
    });
  } finally {
    closeSync(filter);
  }
}

/** Everything after the launch's own descriptors is closed in the child, so that no sandbox inherits what a thread here has open. */
function commandOf({ argv, mounts, idBase, payloadFolder }: LaunchSpec): readonly string[] {
  const firstToClose = idBase === null ? descriptors.mapped : descriptors.mapped + 1;
  const dyingWithUs = idBase === null ? ['setpriv', '--pdeathsig', 'KILL', '--'] : [];
  const ownMounts = mounts === null ? [] : ['unshare', '--mount', '--'];
  const shell = shellClosingFrom(payloadFolder, firstToClose);
  return [...dyingWithUs, ...ownMounts, ...shell, '-c', launchScript, 'corral-launch', ...argv];
}

function environmentOf(spec: LaunchSpec): NodeJS.ProcessEnv {
  const { joinFiles, mounts, idBase, network, sockets, payloadFolder } = spec;
  const disk = mounts?.disk ?? { from: '', folder: '' };
  return {
    PATH: process.env['PATH'],
    NODE_PID: String(process.pid),
    JOIN_FILES: joinFiles.join('\n'),
    FSTAB: mounts?.fstab ?? '',
    ...('layers' in disk
      ? { ...overlayVariables(disk, idBase ?? 0), MOUNT_ROOT: payloadNative(payloadFolder, 'mount-root') }
      : { DISK_FROM: disk.from, DISK_FOLDER: disk.folder }),
    ID_BASE: idBase === null ? '' : String(idBase),
    OWN_NETWORK: network ?? '',
    LIMIT_SOCKETS: sockets?.program ?? '',
    MOST_SOCKETS: String(sockets?.most ?? ''),
  };
}

const overlayVariables = ({ layers, user, stage }: OverlayPlan, idBase: number) => ({
  LAYERS: layers.join('\n'),
  USER_MAP: idMap(idBase, user.uid),
  GROUP_MAP: idMap(idBase, user.gid),
  STAGE: stage,
});

function started(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve(child.pid ?? 0));
  });
}

/** bubblewrap's first status line, `{"child-pid": N, …}`. Read to its end: a closed pipe would kill bubblewrap. */
function readInitPid(status: Readable): Promise<number | null> {
  let text = '';
  return new Promise((resolve) => {
    status.on('data', (chunk: Buffer) => {
      if (text.length < longestStatus) text += chunk.toString('utf8');
      const found = /"child-pid": (\d+)/.exec(text);
      if (found !== null) resolve(Number(found[1]));
    });
    status.on('error', () => resolve(null)).on('close', () => resolve(null));
  });
}

/** What it wrote to standard error, and what we have to say of it. */
function lastWordsOf(stderr: Readable) {
  let words = Buffer.alloc(0);
  const say = (chunk: Buffer | string) => {
    words = Buffer.concat([words, Buffer.from(chunk)]).subarray(-lastWordsBytes);
  };
  stderr.on('data', say);
  return { say, read: () => words.toString('utf8').trim() };
}

function endOf(child: ChildProcess, lastWords: () => string): Promise<Ending> {
  return new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ ...endingOf(code, signal), lastWords: lastWords() }));
  });
}

/** Shells' and bubblewrap's way to pass on that their child was killed: 128 + the signal's number. */
export function endingOf(code: number | null, signal: string | null): Pick<Ending, 'exitCode' | 'signal'> {
  if (code === null || code <= 128) return { exitCode: code, signal };
  const name = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  return name === undefined ? { exitCode: code, signal } : { exitCode: null, signal: name };
}

/**
 * What stands between `node` and bubblewrap, run by `sh` and, as root, in a mount namespace of its own: so the sandbox's
 * mounts are never seen by the host and cannot be left behind. Each program that it runs costs a start a millisecond.
 *
 * In the environment: NODE_PID; JOIN_FILES, one a line; FSTAB (empty: no mounts); DISK_FROM and DISK_FOLDER, or
 * MOUNT_ROOT, LAYERS, USER_MAP, GROUP_MAP and STAGE; ID_BASE (empty: no namespace of its own); OWN_NETWORK, a program that becomes the rest in a network of
 * its own (empty: bubblewrap makes one); LIMIT_SOCKETS, the program that is bubblewrap's parent then (empty: no limit), and MOST_SOCKETS.
 * The arguments are bubblewrap's command; its options come on descriptor 3, its status goes to descriptor 4, and its filter is on 5.
 *
 * Ids change last, after all that only this host's root may do: under the id that is to be the sandbox's root a user namespace
 * is made (with the right to, which not every host gives everybody) and told of by an empty line on 4. Node maps its ids and says
 * so on 6; until then nobody in it is anybody. The namespace then forbids others inside: neither sandboxd nor a command has any
 * use for one, and that takes the capabilities which `--keep-caps` leaves. bubblewrap takes them all away.
 *
 * No sandbox outlives node: under `setpriv --pdeathsig KILL` the kernel kills this process when node dies, also before
 * bubblewrap asks for that itself. Changed ids clear that, a new namespace does not (prctl(2)); so where they change it is asked
 * for with them, and then whether node died before: a launch without node ends there.
 */
const launchScript = `
set -eu
# Node may have died before the kernel was told to watch it.
[ "$PPID" = "$NODE_PID" ] || exit 75
IFS='
'
# Joined before anything else is made, so that all of it is counted and limited.
for file in $JOIN_FILES; do echo $$ > "$file"; done
if [ -n "$FSTAB" ]; then
  mount --all --fstab "$FSTAB"
  if [ -n "\${MOUNT_ROOT:-}" ]; then "$MOUNT_ROOT" "$ID_BASE" "$USER_MAP" "$GROUP_MAP" "$LAYERS" "$STAGE"; else cp -Rp "$DISK_FROM"/* "$DISK_FOLDER"; fi
fi
unset IFS
if [ -z "$ID_BASE" ]; then
  exec \${OWN_NETWORK:+"$OWN_NETWORK"} \\
  \${LIMIT_SOCKETS:+"$LIMIT_SOCKETS" "$MOST_SOCKETS"} "$(command -v bwrap)" --args 3 --json-status-fd 4 -- "$@" >&2
fi
exec setpriv --reuid "$ID_BASE" --regid "$ID_BASE" --clear-groups --inh-caps +sys_admin --ambient-caps +sys_admin \\
  --pdeathsig KILL -- unshare --user --keep-caps -- sh -c '
set -eu
[ "$PPID" = "$NODE_PID" ] || exit 75
echo >&4
read _ <&6
echo 0 > /proc/sys/user/max_user_namespaces
exec \${OWN_NETWORK:+"$OWN_NETWORK"} \\
  \${LIMIT_SOCKETS:+"$LIMIT_SOCKETS" "$MOST_SOCKETS"} "$(command -v bwrap)" --args 3 --json-status-fd 4 -- "$@" 6<&- >&2
' corral-launch "$@"
`;
