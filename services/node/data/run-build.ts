import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { DataBuild } from '#src/model/environment.ts';
import { ownFolder, shellClosingFrom } from '#src/protocol/sandboxd/payload-layout.ts';
import { keptOption, machineFiles, rootOption } from '../bwrap/arguments.ts';
import { mount, type Option } from '../bwrap/options.ts';
import { linksToCopies } from '../bwrap/host-etc.ts';
import { copiesFolder, emptyFile, listHostRoot } from '../bwrap/host-root.ts';
import { layOutRoot } from '../bwrap/root-layout.ts';
import { type Group, type Groups, ownGroups } from '../cgroups/groups.ts';
import type { Site } from '../sandbox/build.ts';
import { isStillThere } from '../sandbox/read-only-root.ts';
import { etcOf } from '../sandbox/own-etc.ts';
import { killMembers } from '../sandbox/process-identity.ts';

/**
 * Runs the program that makes data. Its author is the environment's and trusted as that, which is to say with what his
 * sandboxes may see and no more: this machine's programs, his inputs, and one folder to write in. No network, no home, no
 * secret of anybody's, no neighbour's process, the sandboxes' filter of system calls, a user that owns nothing, and a bound
 * on memory, processes and time: a mistake in it costs this build, not the fleet.
 */
export type BuildSite = Pick<Site, 'etcFolder' | 'kept' | 'filterFile' | 'payloadFolder'> & {
  readonly groups: Groups;
  readonly isRoot: boolean;
  /** Our own Node: an index is made by the SQLite that it is read with, whatever this machine has. */
  readonly nodeProgram: string;
};

export type BuildEnd =
  | { readonly kind: 'made' }
  /** `why`: an end of the sentence "the program …". */
  | { readonly kind: 'failed'; readonly why: string; readonly lastWords: string };

/** Where things are for the program. */
const inside = { inputs: '/inputs', out: '/out', node: `${ownFolder}/node`, temporary: '/tmp' } as const;

/** An XML of a hundred thousand codes parsed at once takes half of it; a sandbox's share is not asked for the build. */
const memoryBytes = 2 * 1024 ** 3;
const limits = { memoryBytes, tasks: 256, cpuMilli: 2_000, cpuShareMilli: 100 };

/** Nobody's, and without a home. */
const userId = 65_534;
/** For the last lines of a stack trace. */
const lastWordsBytes = 4_096;
const filterDescriptor = 3;

const joinScript = `
set -eu
IFS='
'
for file in $JOIN_FILES; do echo $$ > "$file"; done
exec "$@"
`;

/** `folder`: where the result is to be; empty. `signal` ends it. */
export async function runBuild(
  build: DataBuild,
  folder: string,
  site: BuildSite,
  signal: AbortSignal,
): Promise<BuildEnd> {
  const group = await site.groups.create(`${ownGroups.data}${build.digest.slice(0, 24)}`, limits);
  try {
    return await follow(start(build, folder, group, site), build.timeoutMs, signal);
  } finally {
    killMembers(group);
    await group.remove();
  }
}

function start(build: DataBuild, folder: string, group: Group, site: BuildSite): ChildProcess {
  const filter = openSync(site.filterFile, 'r');
  try {
    const options = buildArguments(build, folder, site);
    return spawn(
      'setpriv',
      // Whatever becomes of bubblewrap: it does not outlive us.
      [
        '--pdeathsig',
        'KILL',
        '--',
        ...shellClosingFrom(site.payloadFolder, filterDescriptor + 1),
        '-c',
        joinScript,
        'corral-data',
        'bwrap',
        ...options,
        '--',
        ...commandOf(build, site),
      ],
      {
        stdio: ['ignore', 'pipe', 'pipe', filter],
        env: { PATH: process.env['PATH'], JOIN_FILES: group.joinFiles.join('\n') },
      },
    );
  } finally {
    closeSync(filter);
  }
}

/** Root gives its ids away last, inside; without root bubblewrap has already mapped them. */
const commandOf = ({ argv }: DataBuild, { isRoot }: BuildSite): readonly string[] =>
  isRoot
    ? [
        'setpriv',
        `--reuid=${userId}`,
        `--regid=${userId}`,
        '--clear-groups',
        '--inh-caps=-all',
        '--',
        ...argv,
      ]
    : argv;

function buildArguments({ inputs }: DataBuild, folder: string, site: BuildSite): readonly string[] {
  const { etcFolder, kept, isRoot, nodeProgram } = site;
  const own = { emptyFile: join(etcFolder, emptyFile) };
  const options: readonly Option[] = [
    ['--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ['--die-with-parent', '--new-session', '--hostname', 'corral-data'],
    ['--seccomp', String(filterDescriptor)],
    ...(isRoot ? ownIds : oneId),
    ...layOutRoot('/', [], listHostRoot).map(rootOption),
    ...linksToCopies(join(etcFolder, copiesFolder), []).map(rootOption),
    ...Object.entries(etcOf(etcFolder)).flatMap(([target, source]) => mount('--ro-bind-try', source, target)),
    ...kept.filter(isStillThere).map((each) => keptOption(each, own)),
    ['--proc', '/proc'],
    ['--ro-bind', '/proc/sys', '/proc/sys'],
    ...machineFiles.filter((file) => existsSync(file)).map((file) => ['--ro-bind', '/dev/null', file]),
    ['--dev', '/dev'],
    ['--perms', '1777', '--size', String(memoryBytes), '--tmpfs', inside.temporary],
    ['--perms', '0755', '--dir', inside.inputs],
    ...inputs.map((input) => ['--ro-bind', input, join(inside.inputs, basename(input))]),
    ['--bind', folder, inside.out],
    ...mount('--ro-bind', nodeProgram, join(inside.node, 'node')),
    ['--remount-ro', '/'],
    ['--chdir', inside.inputs],
    ['--clearenv'],
    ['--setenv', 'PATH', `${inside.node}:/usr/local/bin:/usr/bin:/bin`],
    ['--setenv', 'LANG', 'C.UTF-8'],
    ['--setenv', 'TZ', 'UTC'],
    ['--setenv', 'HOME', inside.temporary],
    ['--setenv', 'TMPDIR', inside.temporary],
    ['--setenv', 'CORRAL_DATA', inside.out],
  ];
  return options.flat();
}

const ownIds: readonly Option[] = [
  ['--cap-drop', 'ALL', '--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID'],
];
const oneId: readonly Option[] = [
  ['--unshare-user', '--uid', String(userId), '--gid', String(userId), '--cap-drop', 'ALL'],
];

/** Who owns the folder that the program writes in. */
export const buildUserOf = ({ isRoot }: Pick<BuildSite, 'isRoot'>): number | null => (isRoot ? userId : null);

function follow(child: ChildProcess, timeoutMs: number, signal: AbortSignal): Promise<BuildEnd> {
  let words = Buffer.alloc(0);
  const hear = (chunk: Buffer) => {
    words = Buffer.concat([words, chunk]).subarray(-lastWordsBytes);
  };
  child.stdout?.on('data', hear);
  child.stderr?.on('data', hear);
  const { promise, resolve } = Promise.withResolvers<BuildEnd>();
  const fail = (why: string) => resolve({ kind: 'failed', why, lastWords: words.toString('utf8').trim() });
  let stopped: string | null = null;
  const stop = (why: string) => {
    stopped ??= why;
    child.kill('SIGKILL');
  };
  const deadline = setTimeout(() => stop(`was not done within ${timeoutMs / 1000} s`), timeoutMs);
  const onAbort = () => stop(typeof signal.reason === 'string' ? signal.reason : 'was stopped');
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  child.once('error', (error) => fail(`could not be started: ${error.message}`));
  child.once('close', (code, killedBy) => {
    if (stopped !== null) fail(stopped);
    else if (code === 0) resolve({ kind: 'made' });
    else fail(killedBy === null ? `ended with exit code ${code}` : `was killed by ${killedBy}`);
  });
  return promise.finally(() => {
    clearTimeout(deadline);
    signal.removeEventListener('abort', onAbort);
  });
}
