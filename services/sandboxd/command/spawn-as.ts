import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';
import { readProcessTable, readUid } from '../processes/process-table.ts';
import { signalProcess } from '../processes/kill-tree.ts';
import type { ProcessRole, ProcessUser } from '../users.ts';
import { isUnwatched, startWatch, watched } from './spawn-watch.ts';

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

/** A policy that forks without end takes each place that comes free; so often is one made. */
const mostTries = 20;
/** For the program, and for the thread that watches while it is started. */
const placesMade = 4;
/** A killed process is reaped by pid 1, mostly at once. */
const roomComesMs = 10;

/**
 * Starts a process in its own session and group, under another user where ids can be switched. Where the policy holds all
 * processes that the sandbox may have, some of its newest ones make room for its own next. Throws {@link NotStarted}. Only our
 * own children are ours to reap; orphans go to pid 1, which is bubblewrap's init or a pod's pause process.
 */
export async function spawnAs(spec: ProcessSpec): Promise<StartedProcess> {
  const { takesRoomOf } = spec.user;
  for (let tries = 0; ; tries += 1) {
    try {
      return await spawnWatched(spec);
    } catch (error) {
      const isFull = error instanceof NotStarted && error.errno === 'EAGAIN';
      if (!isFull || tries === mostTries || takesRoomOf === null) throw error;
      makeRoom(takesRoomOf);
      await sleep(roomComesMs);
    }
  }
}

/** Those that were started last: what a command has started for long is more likely wanted. */
function makeRoom(uid: number): void {
  const rows = readProcessTable().filter((row) => readUid(row.pid) === uid);
  const newest = rows.toSorted((one, other) => other.startTicks - one.startTicks);
  for (const row of newest.slice(0, placesMade)) signalProcess(row, 'SIGKILL');
}

async function spawnWatched(spec: ProcessSpec): Promise<StartedProcess> {
  while (isUnwatchedOrThrow(spec)) await startWatchOrThrow(spec);
  const child = spawnOrThrow(spec); // In the same turn: what was not alive a moment ago is not now.
  const failed = new Promise<NodeJS.ErrnoException>((resolve) => child.on('error', resolve));
  const { pid, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) throw notStarted(await failed, spec);
  child.stdin?.on('error', () => {}); // The command may end without having read its input.
  return { pid, child, stdout, stderr };
}

/** Looking takes files; that we can open none is told as what it is. */
function isUnwatchedOrThrow(spec: ProcessSpec): boolean {
  try {
    return isUnwatched(spec.user);
  } catch (error) {
    throw notStarted(error as NodeJS.ErrnoException, spec);
  }
}

/** No room for a thread is none for a process either; only a want of files is our own. */
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
      return existsSync(cwd) ? `there is no program ${program}` : `there is no folder ${cwd}`;
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

/** That we, or this machine, can open no further file: no command's failure, and never told as one. */
const ownWants: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);
const againMs = 50;
/** Each call that ends gives back what it had open. Who has nothing for so long has leaked it, and will never have. */
const patienceMs = 5_000;

/**
 * Starts a process, if need be when there are files to be opened again. Throws {@link NotStarted}, and an error that is
 * nobody's but ours when that does not come: for a call it ends this sandboxd, so that its sandbox counts as lost.
 */
export async function spawnWhenAble(spec: ProcessSpec): Promise<StartedProcess> {
  const untilMs = monotonicMs() + patienceMs;
  for (;;) {
    try {
      return await spawnAs(spec);
    } catch (error) {
      if (!(error instanceof NotStarted) || !ownWants.has(error.errno)) throw error;
      if (monotonicMs() > untilMs) throw new Error('sandboxd can open no file', { cause: error });
      await sleep(againMs);
    }
  }
}

/**
 * Out of memory, the kernel shall take a command before sandboxd, and what the policy runs before the grader that runs
 * it, or who answers its queries: half and a quarter of the scale that ends at 1000.
 */
const penalties = { policy: 500, grader: 250, queries: 250 } as const satisfies Record<ProcessRole, number>;
const highestScore = 1000;
const scoreFile = '/proc/self/oom_score_adj';

/**
 * Runs `fork` while our own out-of-memory score is raised, so that the child inherits the higher one. The score of a
 * process with another user id could not be written afterwards without more privileges than sandboxd has; going back to
 * the score that we started with needs none. Where /proc does not allow it, the child keeps our score.
 */
function sheltered<Child>(user: ProcessRole, fork: () => Child): Child {
  const ownScore = raiseScore(penalties[user]);
  try {
    return fork();
  } finally {
    if (ownScore !== null) writeScore(ownScore);
  }
}

function raiseScore(penalty: number): number | null {
  try {
    const ownScore = Number(readFileSync(scoreFile, 'latin1'));
    return writeScore(Math.min(ownScore + penalty, highestScore)) ? ownScore : null;
  } catch {
    return null;
  }
}

function writeScore(score: number): boolean {
  try {
    writeFileSync(scoreFile, String(score));
    return true;
  } catch {
    return false;
  }
}
