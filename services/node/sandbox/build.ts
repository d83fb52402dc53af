import { existsSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../../src/failure/failure.ts';
import type { Template } from '../../../src/model/environment.ts';
import type { CreateRequest } from '../../../src/ports/sandbox-provider.ts';
import { bwrapArguments, machineFiles } from '../bwrap/arguments.ts';
import type { Users } from '../bwrap/arguments.ts';
import { hostEtc, listFolder, listHostRoot, ownEtcNames } from '../bwrap/host-root.ts';
import type { LaunchSpec } from '../bwrap/launch.ts';
import { places, policyId } from '../bwrap/places.ts';
import { layOutRoot } from '../bwrap/root-layout.ts';
import type { RootStep } from '../bwrap/root-layout.ts';
import type { Group, GroupLimits } from '../cgroups/groups.ts';
import type { SandboxFolder } from './record.ts';

/** What is the same for every sandbox of this node. */
export type Site = {
  readonly payloadFolder: string;
  readonly sandboxdArgv: readonly string[];
  /** Folder with our own files of /etc. */
  readonly etcFolder: string;
  readonly isRoot: boolean;
};

/** Processes and threads that are ours: bubblewrap twice, sandboxd with its threads, one helper for files. */
const ownTasks = 48;

export function groupLimits(template: Template): GroupLimits {
  return {
    memoryBytes: template.memory.limitBytes,
    tasks: template.processes + ownTasks,
    cpuMilli: template.cpu.limitMilli,
    cpuShareMilli: template.cpu.requestMilli,
  };
}

/** Everything needed to start one sandbox. Throws `start_failed` where a folder of the template is missing. */
export async function buildLaunch(
  request: CreateRequest,
  folder: SandboxFolder,
  group: Group,
  site: Site,
): Promise<LaunchSpec> {
  const { template } = request;
  const users = usersOf(template, site);
  const bytes = template.diskBytes;
  // Without root there is no mount of ours: bubblewrap makes the disk inside the sandbox's user namespace.
  const disk = site.isRoot ? { folder: folder.disk, bytes, ownerId: users === 'root' ? 0 : policyId } : null;
  const options = bwrapArguments({
    sandbox: request.sandbox,
    template,
    tokenSha256: request.tokenSha256,
    users,
    root: await rootOf(template, users),
    etc: template.image.kind === 'host' ? etcOf(site.etcFolder) : {},
    payloadFolder: site.payloadFolder,
    runFolder: folder.run,
    diskFolder: disk?.folder ?? null,
    outOfMemoryFile: group.outOfMemoryFile,
    hiddenFiles: machineFiles.filter((file) => existsSync(file)),
  });
  return { bwrapArguments: options, argv: site.sandboxdArgv, joinFiles: group.joinFiles, disk };
}

/** Whose ids commands and sandboxd have in a sandbox of this node. */
export function usersOf({ runAs }: Template, { isRoot }: Site): Users {
  if (!isRoot) return 'single-user';
  return runAs === 'root' ? 'root' : 'two-user';
}

async function rootOf({ image, data }: Template, users: Users): Promise<readonly RootStep[]> {
  for (const { source } of data) await mustBeOpen(source, users);
  const targets = [...mountPoints, ...data.map(({ target }) => target)];
  if (image.kind !== 'rootfs') return layOutRoot('/', targets, listHostRoot);
  await mustBeFolder(image.path, "the sandbox's root");
  return layOutRoot(image.path, targets, listFolder);
}

const mountPoints = [...Object.values(places), '/proc', '/dev', '/sys'];

async function mustBeFolder(path: string, what: string): Promise<Stats> {
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory() === true) return found;
  throw new Failure('start_failed', `${path}, ${what} of this template, is not a folder of this machine`, {
    evidence: { path },
  });
}

/** What others need to list and enter a folder. */
const openToOthers = 0o005;

/** A data folder that the command's user may enter: found out here, not by a model that sees an empty corpus. */
async function mustBeOpen(path: string, users: Users): Promise<void> {
  const { mode, uid } = await mustBeFolder(path, 'a data folder');
  const open = (mode & openToOthers) === openToOthers;
  if (users !== 'two-user' || open || uid === policyId) return;
  throw new Failure(
    'start_failed',
    `${path}, a data folder of this template, is closed to other users, and commands run as one: chmod o+rx ${path}`,
    { evidence: { path } },
  );
}

function etcOf(own: string): Readonly<Record<string, string>> {
  const host = hostEtc.map((name) => [join('/etc', name), join('/etc', name)]);
  const ours = ownEtcNames.map((name) => [join('/etc', name), join(own, name)]);
  return Object.fromEntries([...host, ...ours]) as Record<string, string>;
}
