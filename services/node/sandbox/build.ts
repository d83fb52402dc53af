import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Template } from '#src/model/environment.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import { bwrapArguments, machineFiles, type Users } from '../bwrap/arguments.ts';
import { emptyFile, hostEtc, listFolder, listHostRoot, ownEtcNames } from '../bwrap/host-root.ts';
import { type Kept, notCovered } from '../bwrap/host-settings.ts';
import { descriptors, type LaunchSpec } from '../bwrap/launch.ts';
import { places } from '../bwrap/places.ts';
import { layOutRoot, type RootStep } from '../bwrap/root-layout.ts';
import type { Group, GroupLimits } from '../cgroups/groups.ts';
import type { SandboxFolder } from './record.ts';
import { checkFolders, stageSources } from './sources.ts';

/** What is the same for every sandbox of this node. */
export type Site = {
  readonly payloadFolder: string;
  readonly sandboxdArgv: readonly string[];
  /** Folder with our own files of /etc. */
  readonly etcFolder: string;
  /** Settings of this host that sandboxes with its programs find empty. */
  readonly kept: readonly Kept[];
  /** File with the compiled filter of system calls. */
  readonly filterFile: string;
  /** Folder that every id may enter, where launches mount what a sandbox is made of; null without root: no mounts. */
  readonly stageFolder: string | null;
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
  idBase: number | null,
): Promise<LaunchSpec> {
  const { template } = request;
  const users = usersOf(template, site);
  await checkFolders(template, users, idBase);
  const { sources, mounts } = await stageSources(template, folder, site, users, idBase);
  const options = bwrapArguments({
    sandbox: request.sandbox,
    template,
    tokenSha256: request.tokenSha256,
    users,
    root: rootOf(template, sources.image),
    etc: template.image.kind === 'host' ? etcOf(sources.etc) : {},
    kept:
      template.image.kind === 'host' ? notCovered(site.kept, targetsOf(template)).filter(isStillThere) : [],
    emptyFile: join(sources.etc, emptyFile),
    payloadFolder: sources.payload,
    data: sources.data,
    filterDescriptor: descriptors.filter,
    runFolder: sources.run,
    diskFolder: mounts?.disk.folder ?? null,
    memoryKillsFile: group.memory?.kills ?? null,
    terminalsFolder: sources.terminals,
    hiddenFiles: machineFiles.filter((file) => existsSync(file)),
  });
  const { sandboxdArgv: argv, filterFile } = site;
  return { bwrapArguments: options, argv, joinFiles: group.joinFiles, mounts, idBase, filterFile };
}

/** Whose ids commands and sandboxd have in a sandbox of this node. */
export function usersOf({ runAs }: Template, { stageFolder }: Site): Users {
  if (stageFolder === null) return 'single-user';
  return runAs === 'root' ? 'root' : 'two-user';
}

/** `image` is where the launch finds the template's root folder; its names are read where they are now. */
function rootOf(template: Template, image: string | null): readonly RootStep[] {
  const targets = [...mountPoints, ...targetsOf(template)];
  if (template.image.kind !== 'rootfs' || image === null) return layOutRoot('/', targets, listHostRoot);
  const { path } = template.image;
  return layOutRoot(image, targets, (staged) => listFolder(join(path, staged.slice(image.length))));
}

/** An upgrade of the host may have taken it away, and nothing can be made in its place. */
export const isStillThere = ({ path }: Kept) => existsSync(path);

const targetsOf = ({ data, folders = [] }: Template) => [...data.map(({ target }) => target), ...folders];

const mountPoints = [...Object.values(places), '/proc', '/dev', '/sys'];

export function etcOf(own: string): Readonly<Record<string, string>> {
  const host = hostEtc.map((name) => [join('/etc', name), join('/etc', name)]);
  const ours = ownEtcNames.map((name) => [join('/etc', name), join(own, name)]);
  return Object.fromEntries([...host, ...ours]) as Record<string, string>;
}
