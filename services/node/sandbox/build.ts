import { existsSync, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import type { Template } from '#src/model/environment.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import { bwrapArguments, machineFiles, type Plan, type Users } from '../bwrap/arguments.ts';
import { emptyFile, listFolder, listHostRoot } from '../bwrap/host-root.ts';
import { type Kept, notCovered } from '../bwrap/host-settings.ts';
import { descriptors, type LaunchSpec } from '../bwrap/launch.ts';
import { mostSockets } from '../bwrap/limit-sockets.ts';
import { places } from '../bwrap/places.ts';
import { layOutRoot, type RootStep } from '../bwrap/root-layout.ts';
import type { CanOverlay } from '../bwrap/try-overlay.ts';
import type { Group, GroupLimits } from '../cgroups/groups.ts';
import { payloadNative } from '#src/protocol/sandboxd/payload-layout.ts';
import { type ImageSettings, noImageSettings, readImage } from '../image/read-image.ts';
import {
  type EtcPlan,
  etcFilesOf,
  inEtc,
  type OwnEtc,
  planEtc,
  sandboxEtc,
  writeSandboxEtc,
} from './own-etc.ts';
import { type OverlaySite, stageOverlay } from './overlay.ts';
import type { SandboxFolder } from './record.ts';
import { hostFolders, type Sources, stageSources } from './stage.ts';

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
  /** Whether launches can lay folders one above the other. */
  readonly canLayer: boolean;
  /** Whether they can make this image a root that commands may write. */
  readonly canOverlay: CanOverlay;
  /** Whether launches can limit how many sockets a sandbox has. */
  readonly canLimitSockets: boolean;
};

/** Corral's own processes and threads: `limit-sockets`, bubblewrap twice, sandboxd with its threads, and its helpers. */
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
  const image = imageOf(template);
  const made = { template, folder, users, image, etc: sandboxEtc(request.sandbox, image.accounts) };
  const overlay = await overlaySite(template, site, idBase);
  const { root, mounts } =
    overlay === null ? readOnlyRoot(made, site, idBase) : stageOverlay(made, site.payloadFolder, overlay);
  const options = bwrapArguments({
    ...root,
    sandbox: request.sandbox,
    template,
    tokenSha256: request.tokenSha256,
    users,
    ownIds: idBase !== null,
    image,
    filterDescriptor: descriptors.filter,
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
    filterFile,
    sockets: site.canLimitSockets
      ? {
          program: payloadNative(root.payloadFolder, 'limit-sockets'),
          most: mostSockets(template.memory.limitBytes),
        }
      : null,
  };
}

/** What the root of one sandbox is made from. */
export type Made = {
  readonly template: Template;
  readonly folder: SandboxFolder;
  readonly users: Users;
  readonly image: ImageSettings;
  readonly etc: OwnEtc;
};

/** What a plan says of the root. */
type RootPlan = Pick<
  Plan,
  | 'overlay'
  | 'root'
  | 'etc'
  | 'kept'
  | 'emptyFile'
  | 'payloadFolder'
  | 'data'
  | 'runFolder'
  | 'diskFolder'
  | 'terminalsFolder'
>;

/** A root, and what its launch mounts for it. */
export type Rooted = { readonly root: RootPlan; readonly mounts: LaunchSpec['mounts'] };

/** Null: this sandbox's root is read-only. Owners are shifted to ids of its own, so it must have some. */
async function overlaySite(
  { image }: Template,
  { stageFolder, canOverlay }: Site,
  idBase: number | null,
): Promise<OverlaySite | null> {
  if (image.kind !== 'rootfs' || idBase === null || stageFolder === null) return null;
  return (await canOverlay(image.path)) ? { path: image.path, stageFolder, idBase } : null;
}

function readOnlyRoot({ template, folder, users, etc }: Made, site: Site, idBase: number | null): Rooted {
  writeSandboxEtc(folder.etc, etc);
  const names = Object.keys(etc);
  const targets = targetsOf(template);
  const etcPlan = planEtc(names, template.image, { targets, canLayer: site.canLayer });
  const { sources, mounts } = stageSources(template, folder, site, { users, idBase, etcPlan });
  const root = {
    overlay: null,
    root: rootOf(template, sources, etcPlan, names),
    etc: etcFilesOf(template.image, sources, etcPlan, names),
    kept: template.image.kind === 'host' ? notCovered(site.kept, targets).filter(isStillThere) : [],
    emptyFile: join(sources.etc, emptyFile),
    payloadFolder: sources.payload,
    data: sources.data,
    runFolder: sources.run,
    diskFolder: mounts?.disk.folder ?? null,
    terminalsFolder: sources.terminals,
  };
  return { root, mounts };
}

/** Whose ids commands and sandboxd have in a sandbox of this node. */
export function usersOf({ runAs }: Template, { stageFolder }: Site): Users {
  if (stageFolder === null) return 'single-user';
  return runAs === 'root' ? 'root' : 'two-user';
}

function imageOf({ image, runAs }: Template): ImageSettings {
  return image.kind === 'rootfs' ? readImage(image.path, runAs) : noImageSettings;
}

/** `sources.image` is where the launch finds the template's root folder; its names are read where they are now. */
function rootOf(
  template: Template,
  { image, layers }: Pick<Sources, 'image' | 'layers'>,
  etcPlan: EtcPlan,
  ownEtc: readonly string[],
): readonly RootStep[] {
  const targets = [...mountPoints, ...targetsOf(template)];
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

const mountPoints = [...Object.values(places), '/proc', '/dev', '/sys'];

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
