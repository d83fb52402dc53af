import { basename, dirname, join } from 'node:path';
import { usualShmBytes } from '#src/model/amounts.ts';
import type { SourceFolder, Template } from '#src/model/environment.ts';
import { foldersVariable } from '#src/protocol/sandboxd/folders-variable.ts';
import { imageEnvVariable } from '#src/protocol/sandboxd/image-env-variable.ts';
import { mirrorTallyName } from '#src/protocol/sandboxd/mirror-tally.ts';
import { packageVariablesVariable } from '#src/protocol/sandboxd/package-variables.ts';
import type { GroupFolder } from '../cgroups/groups.ts';
import type { ImageSettings } from '../image/read-image.ts';
import { mirrorVariables } from '../mirrors/settings.ts';
import type { WritablePlace } from '../sandbox/writable-places.ts';
import type { Kept } from './host-settings.ts';
import { mount, type Option, parentsOf } from './options.ts';
import { type Mounts, overlayCapabilities, type OverlayRoot, overlayRoot } from './overlay-root.ts';
import { places, policyId, queriesId, sandboxSocketName, type Users } from './places.ts';
import type { RootStep } from './root-layout.ts';

export type Plan = {
  readonly sandbox: string;
  readonly template: Template;
  readonly tokenSha256: string;
  readonly users: Users;
  /** What commands can write, in the order in which it is mounted. */
  readonly writable: readonly WritablePlace[];
  /** Whether the sandbox's ids have processes nowhere else, so that a limit of one id limits this sandbox alone. */
  readonly ownIds: boolean;
  readonly image: ImageSettings;
  /** A root that commands may write; null: it is read-only, made by the steps of `root`. */
  readonly overlay: OverlayRoot | null;
  readonly root: readonly RootStep[];
  /** Bound into /etc, source by target; missing ones are left out. */
  readonly etc: Readonly<Record<string, string>>;
  /** What of the root is to be empty, and the file that stands for those. */
  readonly kept: readonly Kept[];
  readonly emptyFile: string;
  readonly payloadFolder: string;
  /** The template's data folders, as the launch sees them. */
  readonly data: readonly SourceFolder[];
  /** Whether bubblewrap makes the sandbox's network; else the launch has made it. */
  readonly makesNetwork: boolean;
  /** Descriptor of the launch from which bubblewrap reads its filter of system calls. */
  readonly filterDescriptor: number;
  /** Folder of the host in which sandboxd's socket appears. */
  readonly runFolder: string;
  /** Folder with all of `writable` on one size-limited file system; null: each is bubblewrap's own. */
  readonly diskFolder: string | null;
  /** A file system of pseudo terminals with a limit; null: bubblewrap's own, without one. */
  readonly terminalsFolder: string | null;
  /** The sandbox's control group: its folders of the host. */
  readonly group: readonly GroupFolder[];
  /** The file in which the sandbox's group counts out-of-memory kills; null: they are not counted. */
  readonly memoryKillsFile: string | null;
  /** The kernel's count of the sandbox's processor time; null: it keeps none. */
  readonly cpuTimeFile: string | null;
  /** Those of {@link machineFiles} that this kernel has. */
  readonly hiddenFiles: readonly string[];
};

/** Files of /proc that speak of or to the whole machine and are open to user 0, who is not the host's root here. */
export const machineFiles = ['/proc/kcore', '/proc/keys', '/proc/sysrq-trigger', '/proc/timer_list'];

/** bubblewrap's options for one sandbox; they go through a pipe, so that no process list shows the environment. */
export function bwrapArguments(plan: Plan): readonly string[] {
  const options: readonly Option[] = [
    ...isolation(plan),
    ...(plan.overlay === null ? readOnlyRoot(plan) : overlayRoot(plan.overlay, mountsOf(plan))),
    // The workspace is closed to sandboxd until it has joined the policy's group.
    ['--chdir', '/'],
    ['--clearenv'],
    ...Object.entries(environment(plan)).map(([name, value]) => ['--setenv', name, value]),
  ];
  return options.flat();
}

function readOnlyRoot(plan: Plan): readonly Option[] {
  return [
    ...plan.root.map(rootOption),
    ...Object.entries(plan.etc).flatMap(([target, source]) => mount('--ro-bind-try', source, target)),
    ...plan.kept.map((each) => keptOption(each, plan)),
    ...kernelFolders(plan),
    ...writableFolders(plan),
    ...graderFolder(plan),
    ...ownFolders(plan),
    ...systemFolders(plan),
    ...plan.data.flatMap(({ source, target }) => mount('--ro-bind', source, target)),
    // After every mount point is made: the root itself is bubblewrap's, and without a size limit.
    ...plan.kept.filter(({ kind }) => kind === 'folder').map(({ path }) => ['--remount-ro', path]),
    ['--remount-ro', '/'],
  ];
}

const mountsOf = (plan: Plan): Mounts => ({
  kernel: (root) => [...kernelFolders(plan, root), ...ownSystem(plan, root)],
  own: ownFolders(plan),
  payloadFolder: plan.payloadFolder,
  data: plan.data,
  diskBytes: plan.template.diskBytes,
});

function isolation({ users, overlay, sandbox, makesNetwork, filterDescriptor }: Plan): readonly Option[] {
  return [
    ...(users === 'single-user' ? oneId : twoIds),
    ...(overlay === null ? [] : overlayCapabilities(users)).map((each) => ['--cap-add', each]),
    ['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(makesNetwork ? [['--unshare-net']] : []),
    ['--die-with-parent', '--new-session'],
    ['--hostname', sandbox],
    ['--seccomp', String(filterDescriptor)],
  ];
}

const oneId: readonly Option[] = [
  ['--unshare-user'],
  ['--uid', String(policyId)],
  ['--gid', String(policyId)],
  ['--cap-drop', 'ALL'],
];

// No user namespace of bubblewrap's: it would map one id only, and the command's user must be another than sandboxd's.
// The one that its launch has entered maps them all.
const twoIds: readonly Option[] = [
  ['--cap-drop', 'ALL'],
  ['--cap-add', 'CAP_SETUID'],
  ['--cap-add', 'CAP_SETGID'],
  ['--cap-add', 'CAP_KILL'],
];

export function rootOption(step: RootStep): Option {
  switch (step.kind) {
    case 'bind':
      return ['--ro-bind', step.source, step.target];
    case 'link':
      return ['--symlink', step.to, step.target];
    case 'folder':
      return ['--dir', step.target];
  }
}

/** A file system of its own in place of a folder, because the template may mount something inside. */
export const keptOption = ({ path, kind }: Kept, { emptyFile }: Pick<Plan, 'emptyFile'>): Option =>
  kind === 'folder' ? ['--tmpfs', path] : ['--ro-bind', emptyFile, path];

const kernelFolders = ({ hiddenFiles, terminalsFolder, template }: Plan, root = ''): readonly Option[] => [
  ['--proc', `${root}/proc`],
  // Without a user namespace user 0 could write the host's settings here (core_pattern runs programs outside).
  ['--ro-bind', '/proc/sys', `${root}/proc/sys`],
  ...hiddenFiles.map((file) => ['--ro-bind', '/dev/null', `${root}${file}`]),
  ['--dev', `${root}/dev`],
  ...(terminalsFolder === null ? [] : [['--dev-bind', terminalsFolder, `${root}/dev/pts`]]),
  // Programs use it for locks and shared tables, and it counts as memory.
  ['--perms', '1777', '--size', String(template.shmBytes ?? usualShmBytes), '--tmpfs', `${root}/dev/shm`],
  ['--mqueue', `${root}/dev/mqueue`],
];

/**
 * The grader's disk is not the policy's: what the policy has filled does not keep its grade from being given. sandboxd
 * makes a folder in it for each turn; only what is written there takes memory.
 */
const graderFolder = ({ template }: Plan): readonly Option[] => [
  ...parentsOf(places.grader),
  ['--perms', '0711', '--size', String(template.diskBytes), '--tmpfs', places.grader],
];

function writableFolders({ diskFolder, template, writable }: Plan): readonly Option[] {
  return writable.flatMap(({ name, target, mode }) => {
    if (diskFolder !== null) return mount('--bind', join(diskFolder, name), target);
    const limited = ['--perms', mode.toString(8).padStart(4, '0'), '--size', String(template.diskBytes)];
    return [...parentsOf(target), [...limited, '--tmpfs', target]];
  });
}

const ownFolders = ({ payloadFolder, runFolder }: Plan): readonly Option[] => [
  ...mount('--ro-bind', payloadFolder, places.payload),
  ...mount('--bind', runFolder, places.daemon),
];

const systemFolders = ({ group }: Plan, root = ''): readonly Option[] => [
  ...group.flatMap((folder) => mount('--ro-bind', folder.path, `${root}${groupPlace(folder)}`)),
  ...mount('--ro-bind-try', processors, `${root}${processors}`),
];

/** A file system of its own: in the root's, who owns /sys could put a group in place of the sandbox's, which sandboxd believes. */
const ownSystem = (plan: Plan, root: string): readonly Option[] => [
  ['--tmpfs', `${root}/sys`],
  ...systemFolders(plan, root),
  ['--remount-ro', `${root}/sys`],
];

/** How many processors there are and what they can do. Nothing else of /sys is there, because it describes the machine. */
const processors = '/sys/devices/system/cpu';

const groupPlace = ({ hierarchy }: GroupFolder) => join(places.group, hierarchy);

/** Where a file of the sandbox's group is in the sandbox. */
function inGroup(group: readonly GroupFolder[], file: string | null): string | null {
  const folder = group.find(({ path }) => file !== null && dirname(file) === path);
  return folder === undefined || file === null ? null : join(groupPlace(folder), basename(file));
}

function environment(plan: Plan): Readonly<Record<string, string>> {
  const kills = inGroup(plan.group, plan.memoryKillsFile);
  const cpuTime = inGroup(plan.group, plan.cpuTimeFile);
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: plan.image.home,
    HOSTNAME: plan.sandbox,
    LANG: 'C.UTF-8',
    ...plan.template.env,
    CORRAL_SANDBOX_ID: plan.sandbox,
    CORRAL_TOKEN_SHA256: plan.tokenSha256,
    CORRAL_LISTEN: `unix:${places.daemon}/${sandboxSocketName}`,
    ...workspaceVariables(plan.image),
    ...imageVariables(plan),
    ...(plan.template.mirrors && { CORRAL_MIRROR_TALLY: `${places.daemon}/${mirrorTallyName}` }),
    ...packageVariablesVariable(mirrorVariables(plan.template.mirrors ?? {})),
    CORRAL_POLICY_UID: String(policyId),
    CORRAL_POLICY_GID: String(policyId),
    ...(plan.ownIds && { CORRAL_POLICY_PROCESSES: String(plan.template.processes) }),
    ...ownIdVariables(plan.image.ownIds),
    ...(plan.overlay?.graders == null ? {} : { CORRAL_GRADER_ROOT: places.graderRoot }),
    CORRAL_PID_NAMESPACE: 'own',
    ...(!plan.ownIds && { CORRAL_SHARED_LIMITS: 'user' }),
    CORRAL_USERS: plan.users,
    CORRAL_PAYLOAD: places.payload,
    CORRAL_GRADER_FOLDER: places.grader,
    ...foldersVariable(plan.template),
    ...(kills !== null && { CORRAL_CGROUP_EVENTS: kills }),
    ...(cpuTime !== null && { CORRAL_CGROUP_CPU: cpuTime }),
  };
}

function ownIdVariables({ grader, queries }: ImageSettings['ownIds']): Readonly<Record<string, string>> {
  const graders = { CORRAL_GRADER_UID: String(grader), CORRAL_GRADER_GID: String(grader) };
  if (queries === queriesId) return graders;
  return { ...graders, CORRAL_QUERY_UID: String(queries), CORRAL_QUERY_GID: String(queries) };
}

function workspaceVariables({ workdir }: ImageSettings): Readonly<Record<string, string>> {
  if (workdir === null || workdir === places.workspace) return { CORRAL_WORKSPACE: places.workspace };
  return { CORRAL_WORKSPACE: workdir, CORRAL_WORKSPACE_FROM: 'image' };
}

/** Variables that the environment does not set. */
function imageVariables({ image, template }: Plan): ReturnType<typeof imageEnvVariable> {
  const left = Object.entries(image.env).filter(([name]) => !Object.hasOwn(template.env, name));
  return imageEnvVariable(Object.fromEntries(left));
}
