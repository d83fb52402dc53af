import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { launchScript } from './launch-script.ts';

export type LaunchSpec = {
  readonly bwrapArguments: readonly string[];
  /** sandboxd's command line inside the sandbox. */
  readonly argv: readonly string[];
  readonly joinFiles: readonly string[];
  /** Our own mounts; null without root, when bubblewrap makes the disk itself. */
  readonly mounts: {
    /** What to mount, as `mount --fstab` reads it. */
    readonly fstab: string;
    readonly disk: DiskPlan;
  } | null;
  /** An open user namespace to enter before bubblewrap; null: it runs in this process's own. */
  readonly namespace: number | null;
  /** File with the compiled filter of system calls. */
  readonly filterFile: string;
};

/** Where it is mounted, and the empty `workspace` and `tmp` that it begins with, as they are to be. */
export type DiskPlan = { readonly folder: string; readonly from: string };

/** The launch's descriptors beside the standard ones; the script and bubblewrap's options name them by number. */
export const descriptors = { options: 3, status: 4, filter: 5, namespace: 6 } as const;

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
  const [, , stderr, options, status] = child.stdio as [null, null, Readable, Writable, Readable];
  // The reader may die before it has read them all; its exit says so.
  options.on('error', () => undefined);
  options.end(spec.bwrapArguments.map((argument) => `${argument}\0`).join(''));
  return { pid, initPid: readInitPid(status), ended: endOf(child, stderr) };
};

/** The filter is opened for each launch: whoever shares a descriptor shares how far it was read. */
function spawnLaunch(spec: LaunchSpec): ChildProcess {
  const filter = openSync(spec.filterFile, 'r');
  try {
    const namespace = spec.namespace === null ? [] : [spec.namespace];
    const [program = '', ...args] = commandOf(spec);
    return spawn(program, args, {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe', filter, ...namespace],
      env: environmentOf(spec),
    });
  } finally {
    closeSync(filter);
  }
}

function commandOf({ argv, mounts, namespace }: LaunchSpec): readonly string[] {
  const dyingWithUs = namespace === null ? ['setpriv', '--pdeathsig', 'KILL', '--'] : [];
  const ownMounts = mounts === null ? [] : ['unshare', '--mount', '--'];
  return [...dyingWithUs, ...ownMounts, 'sh', '-c', launchScript, 'corral-launch', ...argv];
}

function environmentOf({ joinFiles, mounts, namespace }: LaunchSpec): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    NODE_PID: String(process.pid),
    JOIN_FILES: joinFiles.join('\n'),
    FSTAB: mounts?.fstab ?? '',
    DISK_FROM: mounts?.disk.from ?? '',
    DISK_FOLDER: mounts?.disk.folder ?? '',
    NAMESPACE: namespace === null ? '' : `/proc/self/fd/${descriptors.namespace}`,
  };
}

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

function endOf(child: ChildProcess, stderr: Readable): Promise<Ending> {
  let words = Buffer.alloc(0);
  stderr.on('data', (chunk: Buffer) => {
    words = Buffer.concat([words, chunk]).subarray(-lastWordsBytes);
  });
  return new Promise((resolve) => {
    child.once('close', (code, signal) =>
      resolve({ ...endingOf(code, signal), lastWords: words.toString('utf8').trim() }),
    );
  });
}

/** Shells' and bubblewrap's way to pass on that their child was killed: 128 + the signal's number. */
export function endingOf(code: number | null, signal: string | null): Pick<Ending, 'exitCode' | 'signal'> {
  if (code === null || code <= 128) return { exitCode: code, signal };
  const name = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  return name === undefined ? { exitCode: code, signal } : { exitCode: null, signal: name };
}
