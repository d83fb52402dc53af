import { existsSync, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Failure } from '#src/failure/failure.ts';
import { memoryLimitOf, type Template } from '#src/model/environment.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import { bwrapArguments, machineFiles } from '../bwrap/arguments.ts';
import type { Kept } from '../bwrap/host-settings.ts';
import { descriptors, type LaunchSpec } from '../bwrap/launch.ts';
import { mostSockets } from '../bwrap/limit-sockets.ts';
import type { Users } from '../bwrap/places.ts';
import type { CanOverlay } from '../bwrap/try-overlay.ts';
import type { Group, GroupLimits } from '../cgroups/groups.ts';
import { payloadNative } from '#src/protocol/sandboxd/payload-layout.ts';
import { hostSettings, imageSettings, type ImageSettings, readImage } from '../image/read-image.ts';
import type { HeldImage } from '../images/images.ts';
import { sandboxEtc } from './own-etc.ts';
import { type OverlaySite, stageOverlay } from './overlay.ts';
import { readOnlyRoot } from './read-only-root.ts';
import type { SandboxFolder } from './record.ts';
import { hostFolders, type SiteFolders } from './stage.ts';

/** What is the same for every sandbox of this node. */
export type Site = SiteFolders & {
  readonly sandboxdArgv: readonly string[];
  /** Settings of this host that sandboxes with its programs find empty. */
  readonly kept: readonly Kept[];
  /** File with the compiled filter of system calls. */
  readonly filterFile: string;
  /** Whether launches can lay folders one above the other. */
  readonly canLayer: boolean;
  /** Whether they can make this image a root that commands may write. */
  readonly canOverlay: CanOverlay;
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
    memoryBytes: memoryLimitOf(template),
    tasks: template.processes + ownTasks,
    cpuMilli: template.cpu.limitMilli,
    cpuShareMilli: template.cpu.requestMilli,
  };
}

/** What is known of a sandbox before it starts. */
type Buildable = {
  readonly request: CreateRequest;
  readonly image: HeldImage | null;
  readonly idBase: number | null;
};

/** Everything needed to start one sandbox. Throws `start_failed` where a folder of the template is missing. */
export async function buildLaunch(
  { request, image: held, idBase }: Buildable,
  folder: SandboxFolder,
  group: Group,
  site: Site,
): Promise<LaunchSpec> {
  const { template } = request;
  const users = usersOf(template, site);
  await checkFolders(template, users, idBase);
  const image = imageOf(template, held);
  const made = {
    template,
    folder,
    users,
    image,
    etc: sandboxEtc(request.sandbox, image.accounts, template.mirrors),
  };
  const overlay = await overlaySite(template, held, site, idBase);
  const { root, mounts } =
    overlay === null ? readOnlyRoot(made, site, idBase) : stageOverlay(made, site.payloadFolder, overlay);
  // What was read of the image counts only if it was there all the time.
  if (held?.isThere() === false)
    throw new Error('the files of the image went away while its sandbox was made');
  const options = bwrapArguments({
    ...root,
    sandbox: request.sandbox,
    template,
    tokenSha256: request.tokenSha256,
    users,
    ownIds: idBase !== null,
    image,
    makesNetwork: mounts === null,
    filterDescriptor: descriptors.filter,
    group: group.folders,
    memoryKillsFile: group.memory?.kills ?? null,
    cpuTimeFile: group.cpuTimeFile,
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
    graderId: (idBase ?? 0) + image.ownIds.grader,
    filterFile,
    network: mounts === null ? null : payloadNative(root.payloadFolder, 'own-network'),
    sockets: site.canLimitSockets
      ? {
          program: payloadNative(root.payloadFolder, 'limit-sockets'),
          most: mostSockets(template.memory.limitBytes),
        }
      : null,
  };
}

/** Null: this sandbox's root is read-only. Owners are shifted to ids of its own, so it must have some. */
async function overlaySite(
  { image }: Template,
  held: HeldImage | null,
  { stageFolder, canOverlay }: Site,
  idBase: number | null,
): Promise<OverlaySite | null> {
  if (idBase === null || stageFolder === null) return null;
  if (held !== null) return { path: held.view, layers: held.layers, stageFolder, idBase };
  if (image.kind !== 'rootfs' || !(await canOverlay(image.path))) return null;
  return { path: image.path, layers: [image.path], stageFolder, idBase };
}

/** Whose ids commands and sandboxd have in a sandbox of this node. */
export function usersOf({ runAs }: Template, { stageFolder }: Site): Users {
  if (stageFolder === null) return 'single-user';
  return runAs === 'root' ? 'root' : 'two-user';
}

function imageOf({ image, runAs }: Template, held: HeldImage | null): ImageSettings {
  if (held !== null) return imageSettings(held.view, held.config, runAs, held.owners);
  return image.kind === 'rootfs' ? readImage(image.path, runAs) : hostSettings(runAs);
}

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
