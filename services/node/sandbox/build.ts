import { existsSync, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import type { Template } from '#src/model/environment.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import { bwrapArguments, machineFiles } from '../bwrap/arguments.ts';
import { emptyFile, listFolder, listHostRoot } from '../bwrap/host-root.ts';
import { type Kept, notCovered } from '../bwrap/host-settings.ts';
import { descriptors, type LaunchSpec } from '../bwrap/launch.ts';
import { mostSockets } from '../bwrap/limit-sockets.ts';
import { places, type Users } from '../bwrap/places.ts';
import { layOutRoot, type RootStep } from '../bwrap/root-layout.ts';
import type { Group, GroupLimits } from '../cgroups/groups.ts';
import { payloadNative } from '#src/protocol/sandboxd/payload-layout.ts';
import { hostSettings, type ImageSettings, readImage } from '../image/read-image.ts';
import { type EtcPlan, etcFilesOf, inEtc, planEtc, sandboxEtc, writeSandboxEtc } from './own-etc.ts';
import type { SandboxFolder } from './record.ts';
import { hostFolders, type SiteFolders, type Sources, stageSources } from './stage.ts';
import { type WritablePlace, writablePlaces } from './writable-places.ts';

/** What is the same for every sandbox of this node. */
export type Site = SiteFolders & {
  readonly sandboxdArgv: readonly string[];
  /** Settings of this host that sandboxes with its programs find empty. */
  readonly kept: readonly Kept[];
  /** File with the compiled filter of system calls. */
  readonly filterFile: string;
  /** Whether launches can lay folders one above the other. */
  readonly canLayer: boolean;
  /** Whether launches can limit how many sockets a sandbox has. */
  readonly canLimitSockets: boolean;
};

/**
 * Corral's own processes and threads: `limit-sockets`, bubblewrap twice, sandboxd with its threads, its helpers, and what carries the
 * streams of commands, of which a grader may run 32 at once.
 */
const ownTasks = 80;

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
  const image = imageOf(template);
  const writable = writablePlaces(template, users, rootFolderOf(template), image);
  const etc = sandboxEtc(request.sandbox, image.accounts);
  writeSandboxEtc(folder.etc, etc);
  const etcPlan = planEtc(Object.keys(etc), template.image, {
    targets: targetsOf(template),
    canLayer: site.canLayer,
  });
  const { sources, mounts } = stageSources(template, folder, site, { users, idBase, etcPlan, writable });
  const options = bwrapArguments({
    sandbox: request.sandbox,
    template,
    tokenSha256: request.tokenSha256,
    users,
    writable,
    ownIds: idBase !== null,
    image,
    root: rootOf(template, sources, etcPlan, { ownEtc: Object.keys(etc), writable }),
    etc: etcFilesOf(template.image, sources, etcPlan, Object.keys(etc)),
    kept:
      template.image.kind === 'host' ? notCovered(site.kept, targetsOf(template)).filter(isStillThere) : [],
    emptyFile: join(sources.etc, emptyFile),
    payloadFolder: sources.payload,
    data: sources.data,
    makesNetwork: mounts === null,
    filterDescriptor: descriptors.filter,
    runFolder: sources.run,
    diskFolder: mounts?.disk.folder ?? null,
    group: group.folders,
    memoryKillsFile: group.memory?.kills ?? null,
    cpuTimeFile: group.cpuTimeFile,
    terminalsFolder: sources.terminals,
    hiddenFiles: machineFiles.filter((file) => existsSync(file)),
  });
  const { sandboxdArgv: argv, filterFile, payloadFolder } = site;
  return {
    bwrapArguments: options,
    argv,
    joinFiles: group.joinFiles,
    payloadFolder,
    mounts,
    idBase,
    filterFile,
    network: mounts === null ? null : payloadNative(sources.payload, 'own-network'),
    sockets: site.canLimitSockets
      ? {
          program: payloadNative(sources.payload, 'limit-sockets'),
          most: mostSockets(template.memory.limitBytes),
        }
      : null,
  };
}

/** Whose ids commands and sandboxd have in a sandbox of this node. */
export function usersOf({ runAs }: Template, { stageFolder }: Site): Users {
  if (stageFolder === null) return 'single-user';
  return runAs === 'root' ? 'root' : 'two-user';
}

function imageOf({ image, runAs }: Template): ImageSettings {
  return image.kind === 'rootfs' ? readImage(image.path, runAs) : hostSettings(runAs);
}

const rootFolderOf = ({ image }: Template) => (image.kind === 'rootfs' ? image.path : null);

/** `sources.image` is where the launch finds the template's root folder; its names are read where they are now. */
function rootOf(
  template: Template,
  { image, layers }: Pick<Sources, 'image' | 'layers'>,
  etcPlan: EtcPlan,
  { ownEtc, writable }: { readonly ownEtc: readonly string[]; readonly writable: readonly WritablePlace[] },
): readonly RootStep[] {
  const targets = [...mountPoints, ...writable.map(({ target }) => target), ...targetsOf(template)];
  if (template.image.kind !== 'rootfs' || image === null) return layOutRoot('/', targets, listHostRoot);
  const { path } = template.image;
  const list = (staged: string) => listFolder(join(path, staged.slice(image.length)));
  if (layers === null) {
    const made = etcPlan === 'anew' ? ownEtc.map(inEtc) : [];
    return layOutRoot(image, [...targets, ...made], list);
  }
  return [...layOutRoot(image, [...targets, '/etc'], list), { kind: 'bind', source: layers, target: '/etc' }];
}

/** An upgrade of the host may have taken it away, and nothing can be made in its place. */
export const isStillThere = ({ path }: Kept) => existsSync(path);

const targetsOf = ({ data, folders = [] }: Template) => [...data.map(({ target }) => target), ...folders];

const mountPoints = [places.payload, places.grader, places.daemon, '/proc', '/dev', '/sys'];

/** The template's folders of this host: found out here, not by a model that sees an empty corpus. */
async function checkFolders(template: Template, users: Users, idBase: number | null): Promise<void> {
  const { image } = template;
  // With ids of its own a sandbox owns nothing of this host's, and its root is one of the others.
  const mustBe = users === 'two-user' || idBase !== null ? mustBeOpen : mustBeFolder;
  for (const { source } of hostFolders(template)) await mustBe(source, 'a data folder');
  if (image.kind === 'rootfs') {
    await (idBase === null ? mustBeFolder : mustBeOpen)(image.path, "the sandbox's root");
  }
}

async function mustBeFolder(path: string, what: string): Promise<Stats> {
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory() === true) return found;
  throw new Failure('start_failed', `${path}, ${what} of this template, is not a folder of this machine`, {
    evidence: { path },
  });
}

/** What others need to list and enter a folder. */
const openToOthers = 0o005;

async function mustBeOpen(path: string, what: string): Promise<void> {
  const { mode } = await mustBeFolder(path, what);
  if ((mode & openToOthers) === openToOthers) return;
  throw new Failure(
    'start_failed',
    `${path}, ${what} of this template, is closed to other users, and a sandbox's ids are nobody's on this machine: chmod o+rx ${path}`,
    { evidence: { path } },
  );
}
