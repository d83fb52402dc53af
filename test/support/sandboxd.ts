import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { nativeFile } from '#infra/payload/native/compile.ts';
import { buildPayload } from '#infra/payload/payload.ts';
import {
  graderMountPoint,
  ownFolder,
  payloadMountPoint,
  sandboxdArgv,
} from '#src/protocol/sandboxd/payload-layout.ts';
import { mayLive } from '#services/sandboxd/processes/process-table.ts';
import { sweepUser } from '#services/sandboxd/processes/sweep.ts';
import type { ProcessUser } from '#services/sandboxd/users.ts';
import { createSandboxdHttpLink } from '#src/adapters/sandboxd-http/link.ts';
import { bootId, rolloutId, runId, sandboxId, tenantId } from '#src/model/ids.ts';
import { rolloutKey, sandboxAddress } from '#src/model/rollout.ts';
import type { SandboxLink, SandboxTarget } from '#src/ports/sandbox-link.ts';
import {
  type BindRequest,
  type CallRequest,
  type ExecAction,
  type GradeAction,
  protocolVersion,
} from '#src/protocol/sandboxd/wire.ts';
import { sharedPayload } from './fleet-folders.ts';

/** A real sandboxd process for tests, and a line to it. */
export type TestSandboxd = {
  readonly process: ChildProcess;
  readonly folder: string;
  readonly workspace: string;
  readonly target: SandboxTarget;
  readonly token: string;
  readonly link: SandboxLink;
  stop(): Promise<void>;
};

export type TestSandboxdOptions = {
  readonly users?: 'two-user' | 'single-user' | 'root';
  readonly env?: Readonly<Record<string, string>>;
  /** Only in bubblewrap: `false` leaves the root without a /bin/sh. */
  readonly shell?: boolean;
  /** Only in bubblewrap: this machine's programs are there too. */
  readonly programs?: boolean;
  /** Numbers under which it finds this machine's root folder open at its start. */
  readonly inherited?: readonly number[];
};

/** Ids that nobody else on this machine has, another test's worker included: killing all of theirs hits nobody. */
export const policyUid = 1_000_000 + 2 * process.pid;
export const graderUid = policyUid + 1;

/**
 * sandboxd from the payload on this machine: no namespaces but one for mounts, everything else as in a sandbox. The payload is
 * mounted where the policy's user may read it, because a folder like /root is closed to it. Needs root.
 */
export async function startSandboxd(options: TestSandboxdOptions = {}): Promise<TestSandboxd> {
  const folder = temporaryFolder();
  const payload = join(folder, 'payload');
  mkdirSync(payload);
  const { dir } = await buildPayload(sharedPayload);
  const settings = {
    CORRAL_LISTEN: `unix:${folder}/d.sock`,
    CORRAL_WORKSPACE: join(folder, 'workspace'),
    CORRAL_GRADER_FOLDER: join(folder, 'grader'),
    CORRAL_PAYLOAD: payload,
  };
  const mounting = ['unshare', '--mount', '--', 'sh', '-c', mountAndBecome, dir, payload];
  return start(folder, join(folder, 'workspace'), [...mounting, ...sandboxdArgv(payload)], settings, options);
}

const mountAndBecome = 'mount --bind "$0" "$1" && shift && exec "$@"';

const busybox = '/bin/busybox';
const daemonFolder = `${ownFolder}/daemon`;

/** sandboxd from the payload in a bubblewrap root with nothing but a static busybox: no glibc, no Node, no network. */
export async function startSandboxdInBwrap(
  payloadDir: string,
  options: TestSandboxdOptions = {},
): Promise<TestSandboxd> {
  const folder = temporaryFolder();
  const workspace = join(folder, 'workspace');
  mkdirSync(workspace);
  const { dir } = await buildPayload(payloadDir);
  const shell = options.shell === false ? [] : ['--symlink', 'busybox', '/bin/sh'];
  const programs = options.programs === true ? machinePrograms : [];
  const argv = ['bwrap', ...bareRoot(folder, dir), ...shell, ...programs, ...sandboxdArgv(payloadMountPoint)];
  const settings = {
    CORRAL_LISTEN: `unix:${daemonFolder}/d.sock`,
    CORRAL_WORKSPACE: '/workspace',
    CORRAL_PID_NAMESPACE: 'own',
    CORRAL_GRADER_FOLDER: graderMountPoint,
    CORRAL_PAYLOAD: payloadMountPoint,
  };
  return start(folder, workspace, argv, settings, options);
}

const machinePrograms = [
  '--ro-bind',
  '/usr',
  '/usr',
  '--symlink',
  'usr/lib',
  '/lib',
  '--symlink',
  'usr/lib64',
  '/lib64',
];

function bareRoot(folder: string, payload: string): readonly string[] {
  const namespaces = [
    '--unshare-pid',
    '--unshare-net',
    '--unshare-ipc',
    '--unshare-uts',
    '--die-with-parent',
  ];
  const privileges = ['CAP_SETUID', 'CAP_SETGID', 'CAP_KILL', 'CAP_CHOWN'].flatMap((name) => [
    '--cap-add',
    name,
  ]);
  const mounts = [
    // Named one by one: a parent that bubblewrap makes by itself is its owner's only.
    ['--dir', '/bin', '--dir', ownFolder],
    ['--ro-bind', busybox, '/bin/busybox'],
    ['--dev', '/dev', '--proc', '/proc', '--perms', '1777', '--tmpfs', '/tmp'],
    ['--ro-bind', payload, payloadMountPoint, '--bind', folder, daemonFolder],
    ['--bind', join(folder, 'workspace'), '/workspace'],
    ['--perms', '0711', '--tmpfs', graderMountPoint],
  ];
  return [...namespaces, '--cap-drop', 'ALL', ...privileges, ...mounts.flat()];
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'corral-sandboxd-'));
  // Commands run as another user and must reach the workspace inside.
  chmodSync(folder, 0o755);
  return folder;
}

async function start(
  folder: string,
  workspace: string,
  argv: readonly string[],
  settings: Readonly<Record<string, string>>,
  { users = 'two-user', env = {}, inherited = [] }: TestSandboxdOptions,
): Promise<TestSandboxd> {
  const sandbox = sandboxId(`s-${randomBytes(4).toString('hex')}`);
  const token = randomBytes(16).toString('hex');
  const [program = '', ...rest] = argv;
  const root = openSync('/', 'r');
  const child = spawn(program, rest, {
    stdio: Array.from({ length: Math.max(2, ...inherited) + 1 }, (_, number) => {
      if (number <= 2) return (['ignore', 'inherit', 'pipe'] as const)[number];
      return inherited.includes(number) ? root : 'ignore';
    }),
    env: {
      PATH: '/usr/bin:/bin',
      CORRAL_SANDBOX_ID: sandbox,
      CORRAL_TOKEN_SHA256: createHash('sha256').update(token).digest('hex'),
      CORRAL_POLICY_UID: String(policyUid),
      CORRAL_POLICY_GID: String(policyUid),
      CORRAL_GRADER_UID: String(graderUid),
      CORRAL_GRADER_GID: String(graderUid),
      CORRAL_USERS: users,
      ...settings,
      ...env,
    },
  });
  closeSync(root);
  if (child.stderr === null) throw new Error('sandboxd has no stderr');
  const boot = bootId(await bootOf(child.stderr));
  const link = createSandboxdHttpLink({ tokenOf: () => token, connectTimeoutMs: 2000 });
  const target = { sandbox, boot, address: sandboxAddress(`unix:${folder}/d.sock`) };
  const stop = async () => {
    await link.close();
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    }
    // Without a pid namespace its commands outlive a sandboxd that was killed. A look is a tenth of what a sweep costs.
    for (const uid of [policyUid, graderUid].filter(mayLive))
      await sweepUser({ ...thatSweeps, ids: { uid, gid: uid } });
    rmSync(folder, { recursive: true, force: true });
  };
  return { process: child, folder, workspace, target, token, link, stop };
}

const thatSweeps: ProcessUser = {
  name: 'policy',
  ids: null,
  umask: 0o022,
  root: null,
  mostProcesses: null,
  largestFileBytes: null,
  enter: nativeFile('enter', process.arch),
  takesRoomOf: null,
};

/** Its first words are that it listens, and as which boot; anything else is why it does not. */
async function bootOf(stderr: Readable): Promise<string> {
  const said: string[] = [];
  for await (const line of createInterface({ input: stderr })) {
    said.push(line);
    const boot = /"message":"listening".*"boot":"([^"]+)"/.exec(line)?.[1];
    if (boot === undefined) continue;
    stderr.resume();
    return boot;
  }
  throw new Error(`sandboxd did not start: ${said.join('\n')}`);
}

/** Of some rollout; `rollout` tells several apart. */
export function aBind(rollout = 'r1', expiresInMs = 600_000): BindRequest {
  const owner = { tenant: 't', run: 'run', rollout, attempt: 1, role: 'policy' };
  return { protocol: protocolVersion, owner, expiresInMs };
}

/** The sandbox for the rollout of {@link aBind}: requests that name it say which of its calls are settled. */
export function ofRollout(target: SandboxTarget, rollout = 'r1'): SandboxTarget {
  const owner = { tenant: tenantId('t'), run: runId('run'), rollout: rolloutId(rollout), attempt: 1 };
  return { ...target, owner: rolloutKey({ ...owner, role: 'policy' }) };
}

/** A shell command as a call. */
export function aShellCall(
  command: string,
  { timeoutMs = 10_000, keepBytes = 65_536, ...action }: Partial<CallRequest & ExecAction> = {},
): CallRequest {
  const argv = ['sh', '-c', command];
  return { digest: `digest of ${command}`, action: { kind: 'exec', argv, ...action }, timeoutMs, keepBytes };
}

/** A turn of a grader that is a shell script. */
export function aGrade(
  command: string,
  {
    turn = 1,
    files = {},
    stdin = '',
    timeoutMs = 30_000,
    ...told
  }: Partial<GradeAction & Pick<CallRequest, 'timeoutMs'>> = {},
): CallRequest {
  const action = { kind: 'grade', turn, argv: ['sh', '-c', command], files, stdin, ...told } as const;
  return { digest: `grade ${turn} ${command}`, action, timeoutMs, keepBytes: 65_536 };
}
