import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { sheltered } from './oom-score.ts';
import { isUnwatched, startWatch, watched } from './spawn-watch.ts';
import type { ProcessUser } from '../users.ts';

export type ProcessSpec = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: ProcessUser;
  readonly stdin: 'nothing' | 'pipe';
};

export type StartedProcess = {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly stdout: Readable;
  readonly stderr: Readable;
};

/** The program could not be run at all: no exit code, nothing of it happened. */
export class NotStarted extends Error {
  readonly errno: string;

  constructor(errno: string, message: string) {
    super(message);
    this.name = 'NotStarted';
    this.errno = errno;
  }
}

/**
 * Starts a process in its own session and group, under another user where ids can be switched. Throws
 * {@link NotStarted}. Only our own children are ours to reap; orphans go to pid 1, which is bubblewrap's init or a pod's
 * pause process.
 */
export async function spawnAs(spec: ProcessSpec): Promise<StartedProcess> {
  while (isUnwatched(spec.user)) await startWatchOrThrow(spec);
  const child = spawnOrThrow(spec); // In the same turn: what was not alive a moment ago is not now.
  const failed = new Promise<NodeJS.ErrnoException>((resolve) => child.on('error', resolve));
  const { pid, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) throw notStarted(await failed, spec);
  child.stdin?.on('error', () => {}); // The command may end without having read its input.
  return { pid, child, stdout, stderr };
}

/**
 * Where the policy holds all processes that the sandbox may have, there is no room for a watcher, and so for the program: one
 * may come free between the two. Only a want of files is our own.
 */
async function startWatchOrThrow(spec: ProcessSpec): Promise<void> {
  try {
    await startWatch();
  } catch (error) {
    const errno = /EMFILE|ENFILE/.exec(String(error))?.[0] ?? 'EAGAIN';
    throw new NotStarted(errno, explain(errno, spec));
  }
}

function spawnOrThrow(spec: ProcessSpec): ChildProcess {
  const [program = '', ...rest] = spec.argv;
  const stdin = spec.stdin === 'pipe' ? 'pipe' : 'ignore';
  // The umask is inherited at the fork, which happens inside `spawn`; it is ours again afterwards.
  const ownUmask = process.umask(spec.user.umask);
  try {
    return sheltered(spec.user.name, () =>
      watched(() =>
        spawn(program, rest, {
          cwd: spec.cwd,
          env: spec.env,
          detached: true,
          stdio: [stdin, 'pipe', 'pipe'],
          ...spec.user.ids,
        }),
      ),
    );
  } catch (error) {
    throw notStarted(error as NodeJS.ErrnoException, spec);
  } finally {
    process.umask(ownUmask);
  }
}

function notStarted(error: NodeJS.ErrnoException, spec: ProcessSpec): NotStarted {
  const errno = error.code ?? 'UNKNOWN';
  return new NotStarted(errno, explain(errno, spec));
}

function explain(errno: string, { argv, cwd }: ProcessSpec): string {
  const program = argv[0] ?? '';
  switch (errno) {
    case 'ENOENT':
      return `there is no program ${program}, or no folder ${cwd}`;
    case 'ENOTDIR':
      return `${cwd} is not a folder`;
    case 'EACCES':
      return `${program} may not be executed, or ${cwd} may not be entered`;
    case 'EAGAIN':
      return `the sandbox has no room for another process`;
    case 'E2BIG':
      return `the arguments of ${program} are too long`;
    default:
      return `${program} could not be started (${errno})`;
  }
}
