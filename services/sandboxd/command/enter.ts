import { readFileSync } from 'node:fs';
import { getSystemErrorName } from 'node:util';
import type { ProcessRole, ProcessUser } from '../users.ts';

/*
 * `enter` stands between sandboxd and every program that it starts (`infra/payload/native/enter.c`). sandboxd has one thread, which
 * waits until the kernel has opened the file of the process that it starts. The policy can delay that for a file of its own, and
 * can stop a process that has its user id. So sandboxd starts a file of the payload, still as itself, and goes on; user, folder,
 * limits and program follow in that process.
 */

/** A program to start, and where. */
export type Entered = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly user: ProcessUser;
  /** A helper of sandboxd's, which shall not wait behind what the policy runs. */
  readonly isInternal?: boolean;
  readonly stdin: 'nothing' | 'pipe';
  /** Sends stderr to the same stream as stdout. */
  readonly merge?: boolean;
};

/** The arguments of `enter`. */
export function enterArguments(start: Entered): readonly string[] {
  const { argv, cwd, user, isInternal = false } = start;
  const { name, ids, umask, root, mostProcesses, largestFileBytes } = user;
  const isCommand = name === 'policy' && !isInternal;
  return [
    '--status',
    '--filter',
    ...option('--umask', umask.toString(8)),
    ...option('--root', root),
    ...option('--cwd', cwd),
    ...option('--oom', scoreFor(name)),
    ...option('--gid', ids?.gid),
    ...option('--uid', ids?.uid),
    ...option('--nice', isCommand ? commandNiceness : null),
    ...(isInternal ? [] : pipes(start)),
    ...option('--fsize', largestFileBytes),
    ...option('--nproc', mostProcesses === null ? null : mostProcesses + (isInternal ? helperTasks : 0)),
    '--',
    ...argv,
  ];
}

/**
 * What a task runs opens its streams by name, which Linux allows for pipes. Helpers keep the sockets that sandboxd has, because no other
 * process can open these.
 */
const pipes = ({ stdin, merge = false }: Entered): readonly string[] => [
  ...option('--pipes', stdin === 'pipe' ? 0 : 1),
  ...(merge ? ['--merge'] : []),
];

const option = (name: string, value: string | number | null | undefined): readonly string[] =>
  value === null || value === undefined ? [] : [name, String(value)];

/**
 * Ten steps of nice are a ninth of the CPU time of a process that took none: enough that sandboxd, which works for some
 * milliseconds at a time, is let in before hundreds of loops. No more, because where no control group separates sandboxes,
 * their commands shall not wait for everything else on this machine.
 */
export const commandNiceness = 10;

/**
 * A helper works where the policy has all the processes that it may have. It has 4 threads, and 4 more while it works with files;
 * this is room for two, a tool and a transfer.
 */
const helperTasks = 16;

/**
 * If memory runs out, the kernel shall kill a command before sandboxd, and what the policy runs before the grader that runs
 * it, or the process that answers its queries: half and a quarter of the scale that ends at 1000. A reader has next to no memory.
 */
const penalties = { policy: 500, grader: 250, queries: 250, owner: 250, reader: 0 } as const satisfies Record<
  ProcessRole,
  number
>;
const highestScore = 1000;

/** Read once: nothing changes sandboxd's own score while it runs. */
let ownScore: number | null | undefined;

/** Null where /proc has no score; a process then keeps sandboxd's. */
function scoreFor(name: ProcessRole): number | null {
  ownScore ??= readOwnScore();
  return ownScore === null ? null : Math.min(ownScore + penalties[name], highestScore);
}

function readOwnScore(): number | null {
  try {
    return Number(readFileSync('/proc/self/oom_score_adj', 'latin1'));
  } catch {
    return null;
  }
}

/** What `enter` ends with if it could not become the program. A program may end with it too. */
export const refusedExit = 127;

/** The longest reason is `program` with three digits. */
export const longestReason = 16;

/** Why a program could not be run, as `enter` wrote it on its own channel; null: it wrote nothing. */
export function parseRefusal(text: string): { readonly what: string; readonly errno: string } | null {
  const [, what, number] = /^(process|folder|program) (\d+)$/.exec(text) ?? [];
  if (what === undefined || number === undefined) return null;
  return { what, errno: getSystemErrorName(-Number(number)) };
}

/** What shells and container engines exit with in place of a program that is missing or not executable; null: for another reason. */
export function shellExit(what: string, errno: string): number | null {
  if (what !== 'program') return null;
  if (errno === 'ENOENT' || errno === 'ENOTDIR') return 127;
  return errno === 'EACCES' ? 126 : null;
}

/** A sentence for the model. */
export function explainRefusal(what: string, errno: string, { argv, cwd }: Entered): string {
  const program = argv[0] ?? '';
  switch (errno) {
    case 'ENOENT':
      return what === 'folder' ? `there is no folder ${cwd}` : `there is no program ${program}`;
    case 'ENOTDIR':
      return what === 'folder' ? `${cwd} is not a folder` : `there is no program ${program}`;
    case 'EACCES':
      return what === 'folder' ? `the folder ${cwd} may not be entered` : `${program} may not be executed`;
    case 'EAGAIN':
      return `the sandbox has no room for another process`;
    case 'E2BIG':
      return explainLength(argv);
    default:
      return `${program} could not be started (${errno})`;
  }
}

/** Linux: 32 pages for one argument, with the zero at its end. */
const longestArgumentBytes = 131_071;

function explainLength(argv: readonly string[]): string {
  const bytes = Math.max(...argv.map((argument) => Buffer.byteLength(argument)));
  if (bytes <= longestArgumentBytes)
    return 'the arguments and variables of the command are too long together';
  return `an argument of the command, or its text, has ${bytes} bytes, and ${longestArgumentBytes} are the most: put it into a file`;
}
