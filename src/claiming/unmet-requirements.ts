import { mirrorsNetwork } from '../model/mirrors.ts';
import { Failure } from '../failure/failure.ts';
import { refuseUnmet } from '../failure/requirements-unmet.ts';
import type { Environment, TemplateBody } from '../model/environment.ts';
import type { Requirements, SandboxRequirements, UnmetRequirement } from '../model/requirements.ts';
import { longestCommandMs } from '../protocol/native/calls.ts';
import type { LackingFolder, Lacks, NeededFolder, SandboxNeeds } from '../protocol/sandboxd/wire.ts';

/**
 * Tasks that cannot run here as they run in their container are refused by name before their first call, so that the
 * difference between two machines is never a reward. What the environment says decides at open; the rest is looked at in
 * the sandbox when it is bound.
 */

/**
 * Throws `requirements_unmet` for what the environment's own lines say. `amounts`: the demanded amounts that cannot be
 * given.
 */
export function checkRequirements(
  environment: Environment,
  wanted: Requirements,
  amounts: readonly UnmetRequirement[],
): void {
  const { template } = environment;
  refuseUnmet([
    ...amounts,
    ...noNetwork(environment, template, wanted),
    ...tooManyServices(wanted),
    ...rootIsWanted(environment, template, wanted.sandbox),
    ...tooLong(environment, wanted),
  ]);
}

function noNetwork(
  { name, waives }: Environment,
  { network }: TemplateBody,
  wanted: Requirements,
): readonly UnmetRequirement[] {
  if (
    wanted.network !== 'public' ||
    (network !== 'none' && network !== mirrorsNetwork) ||
    waives?.network === true
  )
    return [];
  return [
    {
      requirement: 'network',
      wanted: 'the task requests a public network',
      given: `environment ${name} has network: ${network}`,
      fix: `set sandbox.network of ${name} to a class that the operator offers, or sandbox.network_waived: true if the task also works without a network`,
    },
  ];
}

function tooManyServices({ services = 1 }: Requirements): readonly UnmetRequirement[] {
  if (services <= 1) return [];
  return [
    {
      requirement: 'services',
      wanted: `the task consists of ${services} services`,
      given: 'a sandbox is one container',
      fix: 'start the other services inside the image of the task, or leave this task out',
    },
  ];
}

const isRoot = (user: string | undefined): boolean => user === 'root' || user === '0';

/** Which other user commands run as, only the sandbox shows. */
function rootIsWanted(
  { name }: Environment,
  { runAs }: TemplateBody,
  sandbox: SandboxRequirements | null,
): readonly UnmetRequirement[] {
  const user = sandbox?.user;
  if (user === undefined || isRoot(user) === (runAs === 'root')) return [];
  return [
    {
      requirement: 'user',
      wanted: `the task runs commands as ${user}`,
      given: `environment ${name} has run_as: ${runAs}`,
      fix: `set sandbox.run_as of ${name} to ${isRoot(user) ? 'root' : 'user'}, or leave the user out of the task`,
    },
  ];
}

const seconds = (ms: number): string => `${ms / 1000} s`;

function tooLong(
  { name, limits }: Environment,
  { commandTimeoutMs = 0 }: Requirements,
): readonly UnmetRequirement[] {
  const shortest = Math.min(longestCommandMs, limits.rolloutMs);
  if (commandTimeoutMs <= shortest) return [];
  const raise = commandTimeoutMs > longestCommandMs ? '' : `raise limits.rollout of ${name}, or `;
  return [
    {
      requirement: 'timeout',
      wanted: `the task gives one command ${seconds(commandTimeoutMs)}`,
      given: `a command of environment ${name} ends after ${seconds(shortest)}`,
      fix: `${raise}lower the timeout in the task to ${seconds(shortest)}`,
    },
  ];
}

/** What sandboxd looks at when it is bound. */
export function sandboxNeeds({ waives }: Environment, stored: SandboxRequirements | null): SandboxNeeds {
  const { workdir = '.', workdirAccess, folders = [], user } = stored ?? {};
  const isReadOnly = workdirAccess === 'read_only' || waives?.writableWorkdir === true;
  const needed: readonly NeededFolder[] = [
    { path: workdir, access: isReadOnly ? 'enter' : 'write' },
    ...folders.map((path) => ({ path, access: 'make' as const })),
  ];
  // Root or not was decided at open, whatever the image calls its users.
  return { folders: needed, ...(user !== undefined && !isRoot(user) && { user }) };
}

/** The refusals of the kernel that say something about the image; every other one is the machine's trouble. */
const aboutTheImage: Readonly<Record<string, string>> = {
  ENOENT: 'the image does not have it',
  ENOTDIR: 'in the image it is not a folder',
  EACCES: 'the user of commands may not write there',
  EPERM: 'the user of commands may not write there',
  EROFS: 'the file system of the image is read-only here',
};

/** Which line names a needed folder, in words for the person who can change it. */
type Source = { readonly named: string; readonly line: string };

const fromTask: Source = { named: 'which the task names', line: 'the path in the task' };
const fromImage: Source = {
  named: "the WORKDIR of the image's configuration",
  line: "WORKDIR in the image's configuration (on one machine NAME.config.json next to the image's folder)",
};

const fixes: Readonly<Record<string, (environment: string, source: Source) => string>> = {
  ENOENT: (_environment, { line }) => `create it in the image, or correct ${line}`,
  ENOTDIR: (_environment, { line }) => `make it a folder in the image, or correct ${line}`,
  EROFS: (environment) =>
    `add it to sandbox.folders of ${environment} if it is empty in the image, set sandbox.workdir of ${environment} to read_only if the task only reads it, or leave the task out if it changes files of the image there`,
};

const openIt = (environment: string): string =>
  `give it to uid 1000 in the image, or set sandbox.run_as of ${environment} to root`;

/**
 * What a sandbox lacks, as refusals. Throws `setup_failed` for an error that says nothing about the image: another sandbox
 * may not have it.
 */
export function unmetInSandbox(
  { name }: Environment,
  needs: SandboxNeeds,
  { folders, user }: Lacks,
): readonly UnmetRequirement[] {
  return [
    ...folders.map((folder) => unmetFolder(name, needs, folder)),
    ...(user === undefined ? [] : [unmetUser(needs.user ?? '', user)]),
  ];
}

/** The first of the needed folders is the workdir; only the image's own is relative. */
function unmetFolder(
  environment: string,
  needs: SandboxNeeds,
  { index, path, errno }: LackingFolder,
): UnmetRequirement {
  const given = aboutTheImage[errno];
  if (given === undefined) {
    const message = `the sandbox could not look at ${path}: ${errno}`;
    throw new Failure('setup_failed', message, { evidence: { path, errno } });
  }
  const isWorkdir = index === 0;
  const source = needs.folders[index]?.path === '.' ? fromImage : fromTask;
  return {
    requirement: isWorkdir ? 'workdir' : 'folder',
    wanted: isWorkdir
      ? `the task's working directory is ${path}, ${source.named}`
      : `the task writes in the folder ${path}`,
    given: `${given} (${errno})`,
    fix: (fixes[errno] ?? openIt)(environment, source),
  };
}

function unmetUser(user: string, is: NonNullable<Lacks['user']>): UnmetRequirement {
  return {
    requirement: 'user',
    wanted: `the task runs commands as ${user}`,
    given: is === 'absent' ? 'the image has no such user' : 'commands here run as another user of the image',
    fix: 'make it the USER of the image, or leave the user out of the task',
  };
}

/** `reason`: the end of what the verifier printed in runs without a policy. */
export const verifierFails = ({ name }: Pick<Environment, 'name'>, reason: string): UnmetRequirement => ({
  requirement: 'reward',
  wanted: "the task's own solution earns its full reward",
  given: `in environment ${name} it does not, or its verifier leaves no reward: ${reason}`,
  fix: `correct the task or the environment, then prove it again: corral preflight ${name} --task TASK, or python -m corral.harbor check TASK --environment ${name}`,
});
