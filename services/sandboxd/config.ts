import { formerPlaces } from '#src/protocol/sandboxd/payload-layout.ts';
import { foldersIn } from '#src/protocol/sandboxd/folders-variable.ts';
import type { UserIsolation } from '#src/protocol/sandboxd/wire.ts';

/** `root`: commands run under sandboxd's own id because the environment chose so. */
export type UserMode = UserIsolation | 'root';

export type ListenAddress =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

export type Config = {
  readonly sandbox: string;
  /** sha256 of the token, hex; the token itself is never here, so nobody can read it from us. */
  readonly tokenSha256: string;
  readonly listen: ListenAddress;
  readonly workspace: string;
  /**
   * `ours`: made for commands, so a sandbox in which they cannot write there is broken. `image`: the WORKDIR of an image, which
   * stays as it is.
   */
  readonly workspaceFrom: 'ours' | 'image';
  /** Folders beside it, as closed to others. */
  readonly folders: readonly string[];
  readonly userMode: UserMode;
  readonly policyUid: number;
  readonly policyGid: number;
  /**
   * How many processes and threads the policy's user may have. Null: sandboxd sets no limit, because that id has processes
   * elsewhere, which the kernel would count too.
   */
  readonly policyProcesses: number | null;
  /** User and group of the grader's own: nothing that the policy may write is open to it, and nothing of its to the policy. */
  readonly graderUid: number;
  readonly graderGid: number;
  /** User and group of who answers queries: the policy can neither signal nor read it, and it owns nothing. */
  readonly queryUid: number;
  readonly queryGid: number;
  /** Where graders work; closed to the policy before its first command. */
  readonly graderFolder: string;
  /** The root of graders, of what they run as the policy, and of queries; null: they share that of commands. */
  readonly graderRoot: string | null;
  /** This sandbox has a pid namespace that nobody else is in: who is neither pid 1 nor we is a command's. */
  readonly ownNamespace: boolean;
  /** Where the payload is mounted; null when run from sources by an ordinary Node. */
  readonly payload: string | null;
  /** The cgroup file that counts kills for memory; null = look where containers have it. */
  readonly cgroupEvents: string | null;
  /** Where the kernel counts the sandbox's processor time, if the node says so. */
  readonly cgroupCpu: string | null;
  /** Where node counts the sandbox's requests to package mirrors; null: it has none. */
  readonly mirrorTally: string | null;
  /** What the sandbox may write, where its folders lie on a disk that others share; null: its disk is its own. */
  readonly ownDiskMebibytes: number | null;
  /** Whether sandboxes of this machine share what the kernel grants to a user or to the whole machine. */
  readonly sharesLimits: boolean;
  /** Of `/dev/shm`, where a file may be larger than the disk; null: not said. */
  readonly shmMebibytes: number | null;
  /** How long it stands idle before it rehearses. Whoever waits for a sandbox has bound it long before the usual ten seconds. */
  readonly rehearseAfterMs: number;
};

/** sandboxd's settings, all from `CORRAL_*`. Throws one Error that names every mistake. */
export function readConfig(env: NodeJS.ProcessEnv, ownUid: number, ownFolder: string): Config {
  const mistakes: string[] = [];
  const config = parse(env, ownFolder, (mistake) => mistakes.push(mistake));
  if (config.userMode === 'two-user' && ownUid !== 0) {
    mistakes.push(
      'CORRAL_USERS=two-user needs to start as root; use single-user, which gives up isolation of ids',
    );
  }
  if (mistakes.length > 0) throw new Error(`sandboxd cannot start: ${mistakes.join('; ')}`);
  return config;
}

type Complain = (mistake: string) => void;

function parse(env: NodeJS.ProcessEnv, ownFolder: string, complain: Complain): Config {
  return {
    sandbox: required(env, 'CORRAL_SANDBOX_ID', /^[\x21-\x7e]+$/, 'the id of this sandbox', complain),
    tokenSha256: required(env, 'CORRAL_TOKEN_SHA256', /^[0-9a-f]{64}$/, '64 hex characters', complain),
    listen: parseListen(env['CORRAL_LISTEN'] ?? '', complain),
    ...workspaceIn(env, ownFolder),
    folders: foldersIn(env),
    userMode: parseUserMode(env['CORRAL_USERS'] ?? 'two-user', complain),
    policyUid: parsePositive(env, 'CORRAL_POLICY_UID', 1000, complain),
    policyGid: parsePositive(env, 'CORRAL_POLICY_GID', 1000, complain),
    policyProcesses: parsePositive(env, 'CORRAL_POLICY_PROCESSES', null, complain),
    graderUid: parsePositive(env, 'CORRAL_GRADER_UID', 1001, complain),
    graderGid: parsePositive(env, 'CORRAL_GRADER_GID', 1001, complain),
    queryUid: parsePositive(env, 'CORRAL_QUERY_UID', 1002, complain),
    queryGid: parsePositive(env, 'CORRAL_QUERY_GID', 1002, complain),
    // A controller of the previous version does not say where it mounts it.
    graderFolder: env['CORRAL_GRADER_FOLDER'] ?? formerPlaces.grader,
    graderRoot: env['CORRAL_GRADER_ROOT'] ?? null,
    ownNamespace: env['CORRAL_PID_NAMESPACE'] === 'own',
    payload: env['CORRAL_PAYLOAD'] ?? null,
    cgroupEvents: env['CORRAL_CGROUP_EVENTS'] ?? null,
    cgroupCpu: env['CORRAL_CGROUP_CPU'] ?? null,
    mirrorTally: env['CORRAL_MIRROR_TALLY'] ?? null,
    ownDiskMebibytes: parsePositive(env, 'CORRAL_DISK_MIB', null, complain),
    sharesLimits: env['CORRAL_SHARED_LIMITS'] === 'user',
    shmMebibytes: parsePositive(env, 'CORRAL_SHM_MIB', null, complain),
    rehearseAfterMs: parsePositive(env, 'CORRAL_REHEARSE_AFTER_MS', 10_000, complain),
  };
}

const ownWorkspace = '/workspace';

/**
 * A container starts sandboxd in its image's WORKDIR, or in the root if the image names none. If its user may not write in a WORKDIR, that is
 * for the rollout to say: a grader's sandbox only reads there.
 */
function workspaceIn(env: NodeJS.ProcessEnv, ownFolder: string): Pick<Config, 'workspace' | 'workspaceFrom'> {
  const named = env['CORRAL_WORKSPACE'];
  const isImages = named === undefined && ownFolder !== '/' && ownFolder !== ownWorkspace;
  return {
    workspace: named ?? (isImages ? ownFolder : ownWorkspace),
    workspaceFrom: isImages || env['CORRAL_WORKSPACE_FROM'] === 'image' ? 'image' : 'ours',
  };
}

function required(
  env: NodeJS.ProcessEnv,
  name: string,
  shape: RegExp,
  wanted: string,
  complain: Complain,
): string {
  const value = env[name] ?? '';
  if (!shape.test(value)) complain(`${name} must be ${wanted}, not ${JSON.stringify(value)}`);
  return value;
}

function parseListen(text: string, complain: Complain): ListenAddress {
  const unix = /^unix:(\/.+)$/.exec(text)?.[1];
  if (unix !== undefined) return { kind: 'unix', path: unix };
  const tcp = /^tcp:(.+):(\d{1,5})$/.exec(text);
  if (tcp?.[1] !== undefined && Number(tcp[2]) <= 65_535) {
    return { kind: 'tcp', host: tcp[1], port: Number(tcp[2]) };
  }
  complain(`CORRAL_LISTEN must be unix:/path or tcp:host:port, not ${JSON.stringify(text)}`);
  return { kind: 'unix', path: '' };
}

function parseUserMode(text: string, complain: Complain): UserMode {
  if (text === 'two-user' || text === 'single-user' || text === 'root') return text;
  complain(`CORRAL_USERS must be two-user, single-user or root, not ${JSON.stringify(text)}`);
  return 'two-user';
}

function parsePositive<Fallback extends number | null>(
  env: NodeJS.ProcessEnv,
  name: string,
  fallback: Fallback,
  complain: Complain,
): number | Fallback {
  const text = env[name];
  if (text === undefined) return fallback;
  // As an id 0 would be root: commands under sandboxd's own id are chosen by CORRAL_USERS, never by a number.
  if (!/^[1-9]\d{0,9}$/.test(text))
    complain(`${name} must be a positive number, not ${JSON.stringify(text)}`);
  return Number(text);
}
