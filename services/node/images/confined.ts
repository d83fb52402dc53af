import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { shellClosingFrom } from '#src/protocol/sandboxd/payload-layout.ts';
import { rootOption } from '../bwrap/arguments.ts';
import { listHostRoot } from '../bwrap/host-root.ts';
import { mount, type Option } from '../bwrap/options.ts';
import { layOutRoot } from '../bwrap/root-layout.ts';
import type { Groups } from '../cgroups/groups.ts';
import { etcOf } from '../sandbox/own-etc.ts';
import { killMembers } from '../sandbox/process-identity.ts';

/**
 * Runs a program on data that strangers have written: what a registry sends, and the layers of an image. It sees this machine's programs,
 * read-only, and what it is given; it has no right that its work does not need, and a group of its own with bounds on memory,
 * processes and processor time. So one pull cannot end another one.
 */
export type ConfinedSite = {
  readonly etcFolder: string;
  readonly filterFile: string;
  readonly payloadFolder: string;
  readonly groups: Groups;
};

export type Confined = {
  /** Name of its control group. */
  readonly name: string;
  readonly argv: readonly string[];
  readonly mounts: readonly Option[];
  readonly variables: Readonly<Record<string, string>>;
  /** `network`: this machine's; `user`: its only id. Without, it is a root that may read and write what is mounted for it. */
  readonly as:
    | { readonly kind: 'user'; readonly id: number; readonly network: boolean }
    | { readonly kind: 'root' };
  /** An overlay that is mounted before, and that ends with it. */
  readonly overlay: OverlayMount | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called with each line of its output that begins with `? `, without that. What it returns is written to its input. */
  readonly onQuestion?: (question: string) => Promise<string>;
};

/** Paths are relative to `below`, so that many layers fit into a page. */
export type OverlayMount = {
  readonly below: string;
  readonly lower: readonly string[];
  readonly upper: string;
  readonly work: string;
  readonly at: string;
};

export type Ended = {
  /** Null: killed. */
  readonly code: number | null;
  readonly stdout: string;
  /** The end of what it wrote to stderr. */
  readonly words: string;
  /** Why it was ended from outside; null: it ended by itself. */
  readonly stopped: string | null;
};

const filterDescriptor = 3;
const limits = { memoryBytes: 1024 ** 3, tasks: 128, cpuMilli: 2_000, cpuShareMilli: 100 };
const mostOutput = 8 * 1024 * 1024;
const mostWords = 4_096;

/** Of what a root's process may do, what unpacking needs: owners and modes. */
const unpackingCapabilities = ['CAP_CHOWN', 'CAP_DAC_OVERRIDE', 'CAP_FOWNER', 'CAP_FSETID'];

const script = `
set -eu
[ "$PPID" = "$NODE_PID" ] || exit 75
IFS='
'
for file in $JOIN_FILES; do echo $$ > "$file"; done
unset IFS
if [ -n "$LOWER" ]; then
  cd "$BELOW"
  LIBMOUNT_FORCE_MOUNT2=always mount -t overlay -o "nosuid,nodev,noexec,lowerdir=$LOWER,upperdir=$UPPER,workdir=$WORK,metacopy=off,redirect_dir=off,index=off" corral-layer "$AT"
  cd /
fi
exec "$@"
`;

export async function runConfined(confined: Confined, site: ConfinedSite): Promise<Ended> {
  const group = await site.groups.create(confined.name, limits);
  try {
    return await follow(start(confined, group.joinFiles, site), confined);
  } finally {
    killMembers(group);
    await group.remove();
  }
}

function start(confined: Confined, joinFiles: readonly string[], site: ConfinedSite): ChildProcess {
  const filter = openSync(site.filterFile, 'r');
  const { overlay, as, argv } = confined;
  const asUser = as.kind === 'user' ? asId(as.id) : [];
  const shell = [...shellClosingFrom(site.payloadFolder, filterDescriptor + 1), '-c', script, 'corral-image'];
  const bwrap = ['bwrap', ...bwrapOptions(confined, site), '--', ...asUser, ...argv];
  try {
    return spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'unshare', '--mount', '--', ...shell, ...bwrap], {
      stdio: ['pipe', 'pipe', 'pipe', filter],
      env: {
        PATH: process.env['PATH'],
        NODE_PID: String(process.pid),
        JOIN_FILES: joinFiles.join('\n'),
        BELOW: overlay?.below ?? '',
        LOWER: overlay?.lower.join(':') ?? '',
        UPPER: overlay?.upper ?? '',
        WORK: overlay?.work ?? '',
        AT: overlay?.at ?? '',
      },
    });
  } finally {
    closeSync(filter);
  }
}

const asId = (id: number): readonly string[] => [
  'setpriv',
  `--reuid=${id}`,
  `--regid=${id}`,
  '--clear-groups',
  '--inh-caps=-all',
  '--',
];

function bwrapOptions({ as, mounts, variables }: Confined, { etcFolder }: ConfinedSite): readonly string[] {
  const hasNetwork = as.kind === 'user' && as.network;
  const capabilities = as.kind === 'user' ? ['CAP_SETUID', 'CAP_SETGID'] : unpackingCapabilities;
  const options: readonly Option[] = [
    ['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(hasNetwork ? [] : [['--unshare-net']]),
    ['--die-with-parent', '--new-session', '--hostname', 'corral-image'],
    ['--seccomp', String(filterDescriptor)],
    ['--cap-drop', 'ALL', ...capabilities.flatMap((each) => ['--cap-add', each])],
    ...layOutRoot('/', [], listHostRoot).map(rootOption),
    ...Object.entries(etcFiles(etcFolder, hasNetwork)).flatMap(([target, source]) =>
      mount('--ro-bind-try', source, target),
    ),
    // No others: neither terminals nor memory that files could be put in.
    ...['/dev/null', '/dev/zero', '/dev/urandom'].flatMap((file) => mount('--dev-bind', file, file)),
    ...mounts,
    ['--remount-ro', '/'],
    ['--chdir', '/'],
    ['--clearenv'],
    ...Object.entries({ PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8', ...variables }).map(
      ([name, value]) => ['--setenv', name, value],
    ),
  ];
  return options.flat();
}

/** With a network, also how this machine finds the addresses of names. */
function etcFiles(etcFolder: string, hasNetwork: boolean): Readonly<Record<string, string>> {
  const names = ['/etc/hosts', '/etc/resolv.conf', '/etc/nsswitch.conf'].filter((file) => existsSync(file));
  return {
    ...etcOf(etcFolder),
    ...(hasNetwork ? Object.fromEntries(names.map((file) => [file, file])) : {}),
  };
}

function follow(child: ChildProcess, { timeoutMs, signal, onQuestion }: Confined): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>();
  let stopped: string | null = null;
  const stop = (why: string) => {
    stopped ??= why;
    child.kill('SIGKILL');
  };
  const read = readOutput(child, stop, onQuestion);
  const deadline = setTimeout(() => stop(`it was not done within ${timeoutMs / 1000} s`), timeoutMs);
  const onAbort = () => stop(typeof signal.reason === 'string' ? signal.reason : 'it was stopped');
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  child.once('error', (error) => resolve({ code: null, ...read(), stopped: error.message }));
  child.once('close', (code) => resolve({ code, ...read(), stopped }));
  return promise.finally(() => {
    clearTimeout(deadline);
    signal.removeEventListener('abort', onAbort);
  });
}

const question = '? ';

function readOutput(child: ChildProcess, stop: (why: string) => void, onQuestion: Confined['onQuestion']) {
  const output: Buffer[] = [];
  let bytes = 0;
  let words = Buffer.alloc(0);
  let begun = '';
  const answer = (asked: string) =>
    void onQuestion?.(asked).then(
      (text) => child.stdin?.write(text),
      (thrown: unknown) => stop(String(thrown)),
    );
  child.stdin?.on('error', () => undefined);
  child.stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > mostOutput) return stop('it wrote too much');
    output.push(chunk);
    if (onQuestion === undefined) return;
    const lines = `${begun}${chunk.toString('utf8')}`.split('\n');
    begun = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith(question)) answer(line.slice(question.length));
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    words = Buffer.concat([words, chunk]).subarray(-mostWords);
  });
  if (onQuestion === undefined) child.stdin?.end();
  return () => ({
    stdout: Buffer.concat(output).toString('utf8'),
    words: words.toString('utf8').trim(),
  });
}
