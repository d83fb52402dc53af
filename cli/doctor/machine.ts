import { execFile } from 'node:child_process';
import { access, constants, readFile, stat, statfs } from 'node:fs/promises';
import { release } from 'node:os';
import { promisify } from 'node:util';
import { imagePrograms, missingPrograms, neededPrograms } from '../fleet/needed-programs.ts';
import { stateFolderAt } from '../fleet/state-folder.ts';
import { bytes } from '../print/amounts.ts';
import { missingFlagsHere } from '../up/container-rights.ts';
import { type Finding, note, ok, problem } from './finding.ts';

const run = promisify(execFile);

/** What is commonly wrong on a machine that a fleet is to run on. */
export async function examineMachine(state: string): Promise<readonly Finding[]> {
  const programs = examinePrograms();
  return [
    examineSystem(process.platform, process.arch, release()),
    programs,
    ...(programs.state === 'ok' ? [await examineRedis()] : []),
    examineImagePrograms(),
    examineUser(process.getuid?.() === 0),
    await examineNamespaces(),
    ...examineContainer(),
    await examineGroups(),
    await examineLimitsOfFiles(),
    await examineRoom(state),
    await examineStateFolder(state),
  ];
}

const oldestForOverlay: readonly [number, number] = [5, 19];

export function examineSystem(platform: string, arch: string, kernel: string): Finding {
  const what = 'system';
  const seen = `${platform} ${kernel} on ${arch}`;
  if (platform !== 'linux' || (arch !== 'x64' && arch !== 'arm64'))
    return problem(what, seen, 'a fleet takes Linux on x64 or arm64; run corral-local in a virtual machine');
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  const [wantedMajor, wantedMinor] = oldestForOverlay;
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return ok(what, seen);
  return note(what, seen, 'Linux 5.19 or newer also gives images a writable root');
}

function examinePrograms(): Finding {
  const what = 'programs';
  const needed = neededPrograms('local');
  const missing = missingPrograms(needed);
  if (missing.length === 0) return ok(what, needed.map(({ name }) => name).join(', '));
  const packages = missing.map((one) => one.package).join(' ');
  return problem(
    what,
    `not installed: ${missing.map(({ name }) => name).join(', ')}`,
    `apt-get install ${packages}`,
  );
}

/** A note: only environments with an image of a registry or an archive need them. */
export function examineImagePrograms(path = process.env['PATH']): Finding {
  const what = 'images of registries';
  const missing = missingPrograms(imagePrograms, path);
  if (missing.length === 0) return ok(what, imagePrograms.map(({ name }) => name).join(', '));
  const names = missing.map(({ name }) => name).join(', ');
  const packages = missing.map((one) => one.package).join(' ');
  return note(what, `not installed: ${names}`, `apt-get install ${packages}`);
}

async function examineRedis(): Promise<Finding> {
  const { stdout } = await run('redis-server', ['--version']);
  const version = /v=([0-9.]{1,20})/.exec(stdout)?.[1] ?? 'unknown';
  if (Number(version.split('.')[0]) >= 7) return ok('redis-server', version);
  return problem('redis-server', `version ${version}`, 'install 7 or newer: older ones have no functions');
}

function examineUser(isRoot: boolean): Finding {
  if (isRoot) return ok('user', 'root: two user ids in each sandbox');
  const fix = 'run it as root (sudo), or on a cluster: only root can hand out a second user id';
  return note('user', 'not root: commands, graders and sandboxd are one user', fix);
}

/** Only who is not root needs them of the system's leave; root makes them anyway, unless there may be none at all. */
async function examineNamespaces(): Promise<Finding> {
  const what = 'user namespaces';
  const [most, restricted, allowed] = await Promise.all(
    [
      'user/max_user_namespaces',
      'kernel/apparmor_restrict_unprivileged_userns',
      'kernel/unprivileged_userns_clone',
    ].map((name) =>
      readFile(`/proc/sys/${name}`, 'utf8').then(
        (text) => text.trim(),
        () => '',
      ),
    ),
  );
  if (most === '0') return problem(what, 'the kernel allows none', 'sysctl user.max_user_namespaces=15000');
  if (process.getuid?.() === 0) return ok(what, 'as many as sandboxes need');
  if (restricted === '1')
    return problem(
      what,
      'AppArmor refuses them',
      'sysctl kernel.apparmor_restrict_unprivileged_userns=0, or run it as root',
    );
  if (allowed === '0')
    return problem(what, 'for root only', 'sysctl kernel.unprivileged_userns_clone=1, or run it as root');
  return ok(what, 'for every user');
}

function examineContainer(): readonly Finding[] {
  const missing = missingFlagsHere(process.env);
  return missing.map((flag) =>
    problem('container', 'it has too few rights to make sandboxes', `start it with ${flag}`),
  );
}

async function examineGroups(): Promise<Finding> {
  const what = 'control groups';
  // Version 1 has a hierarchy for each controller, version 2 one for all.
  for (const folder of ['/sys/fs/cgroup/memory', '/sys/fs/cgroup']) {
    const isThere = await access(folder).then(
      () => true,
      () => false,
    );
    if (!isThere) continue;
    const isWritable = await access(folder, constants.W_OK).then(
      () => true,
      () => false,
    );
    if (isWritable) return ok(what, `${folder} can be written: limits hold`);
    return note(
      what,
      `${folder} cannot be written: limits of memory, processes and CPU do not hold`,
      'run it as root; in a container with --privileged',
    );
  }
  return note(what, 'there are none', 'mount /sys/fs/cgroup');
}

/** A gateway holds 4,000 requests, each with a connection, and as many to sandboxes. */
const fewFiles = 4096;

async function examineLimitsOfFiles(): Promise<Finding> {
  const what = 'open files';
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const line = limits.split('\n').find((one) => one.startsWith('Max open files')) ?? '';
  const hard = Number(line.split(/ {1,64}/)[4] ?? fewFiles);
  if (hard >= fewFiles) return ok(what, `at most ${hard}`);
  return note(
    what,
    `at most ${hard}`,
    `ulimit -n ${fewFiles} before the start, or a burst of rollouts is refused`,
  );
}

const littleRoom = 1024 ** 3;

async function examineRoom(state: string): Promise<Finding> {
  const what = 'disk';
  const { bavail, bsize } = await statfs(state).catch(() => statfs('.'));
  const free = bavail * bsize;
  const seen = `${bytes(free)} free for ${state}`;
  return free >= littleRoom
    ? ok(what, seen)
    : problem(what, seen, 'free some, or give another folder with --state');
}

async function examineStateFolder(state: string): Promise<Finding> {
  const what = 'state folder';
  const { keysFile } = stateFolderAt(state);
  const file = await stat(keysFile).catch(() => null);
  if (file === null) return ok(what, `${state} has no key file yet`);
  if ((file.mode & 0o077) !== 0)
    return problem(what, `${keysFile} can be read by others`, `chmod 600 ${keysFile}`);
  const isWritable = await access(state, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (isWritable) return ok(what, `${state}, for its owner only`);
  return problem(
    what,
    `${state} belongs to another user`,
    'run it as that user, or give another folder with --state',
  );
}
