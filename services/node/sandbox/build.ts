import { chmodSync, chownSync, existsSync, mkdirSync, type Stats, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import type { SourceFolder, Template } from '#src/model/environment.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import { bwrapArguments, diskFolderName, machineFiles, type Users } from '../bwrap/arguments.ts';
import { emptyFile, hostEtc, listFolder, listHostRoot, ownEtcNames } from '../bwrap/host-root.ts';
import { type Kept, notCovered } from '../bwrap/host-settings.ts';
import { descriptors, type LaunchSpec } from '../bwrap/launch.ts';
import { places, policyId } from '../bwrap/places.ts';
import { layOutRoot, type RootStep } from '../bwrap/root-layout.ts';
import type { Group, GroupLimits } from '../cgroups/groups.ts';
import type { SandboxFolder } from './record.ts';

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
  const { sandboxdArgv: argv, filterFile, payloadFolder } = site;
  return {
    bwrapArguments: options,
    argv,
    joinFiles: group.joinFiles,
    payloadFolder,
    mounts,
    idBase,
    filterFile,
  };
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

/** Folders of the host that a sandbox is made of, where its launch finds them. */
type Sources = {
  readonly run: string;
  readonly payload: string;
  readonly etc: string;
  /** Null: bubblewrap makes its own. */
  readonly terminals: string | null;
  readonly image: string | null;
  readonly data: readonly SourceFolder[];
};

/** Writes down what the launch is to mount; without root it mounts nothing, and everything is where it is. */
async function stageSources(
  template: Template,
  folder: SandboxFolder,
  { payloadFolder, etcFolder, stageFolder }: Site,
  users: Users,
  idBase: number | null,
): Promise<{ readonly sources: Sources; readonly mounts: LaunchSpec['mounts'] }> {
  const image = template.image.kind === 'rootfs' ? template.image.path : null;
  const hosts = {
    run: folder.run,
    payload: payloadFolder,
    etc: etcFolder,
    image,
    data: hostFolders(template),
  };
  // Without root there is no mount of ours: bubblewrap makes the disk inside the sandbox's user namespace.
  if (stageFolder === null) return { sources: { ...hosts, terminals: null }, mounts: null };
  const { run, payload, etc, data } = hosts;
  const from = [run, payload, etc, ...(image === null ? [] : [image]), ...data.map(({ source }) => source)];
  const [disk, terminals, ...staged] = stage(stageFolder, template.diskBytes, from);
  const all = [disk, terminals, ...staged];
  for (const { at } of all) mkdirSync(at, { recursive: true });
  writeFileSync(folder.fstab, fstabOf(all), { mode: 0o600 });
  makeDisk(folder.disk, template, users, idBase ?? 0);
  const placeOf = (path: string) => staged[from.indexOf(path)]?.at ?? path;
  return {
    sources: {
      run: placeOf(run),
      payload: placeOf(payload),
      etc: placeOf(etc),
      terminals: terminals.at,
      image: image === null ? null : placeOf(image),
      data: data.map(({ source, target }) => ({ source: placeOf(source), target })),
    },
    mounts: { fstab: folder.fstab, disk: { folder: disk.at, from: folder.disk } },
  };
}

/** As the launch copies it into the mounted one. `base`: the host's id of the sandbox's user 0. */
function makeDisk(folder: string, { folders = [] }: Template, users: Users, base: number): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Nobody else's, the grader's neither: it reads as the policy's user what the policy has written.
  for (const name of ['workspace', ...folders.map((_, index) => diskFolderName(index))]) {
    makeOwned(join(folder, name), base + (users === 'root' ? 0 : policyId), 0o770);
  }
  makeOwned(join(folder, 'tmp'), base, 0o1777);
}

function makeOwned(folder: string, owner: number, mode: number): void {
  mkdirSync(folder, { recursive: true });
  chownSync(folder, owner, owner);
  chmodSync(folder, mode);
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

/** What a program made is a folder by now (`data/built-data.ts`), and what an image holds was refused before. */
function hostFolders({ data }: Template): readonly SourceFolder[] {
  return data.filter((folder) => 'source' in folder);
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

/**
 * What of this host's folders a sandbox is made of, as its launch sees it. bubblewrap runs under ids that may enter
 * nothing closed to others, and a state folder, a checkout in /root or a corpus in somebody's home is: so host root
 * mounts each of them at a place that all may enter, in the launch's own mount namespace, where the host never sees it.
 */
type StagedMount =
  | { readonly kind: 'folder'; readonly from: string; readonly at: string }
  | { readonly kind: 'disk'; readonly bytes: number; readonly at: string }
  | { readonly kind: 'terminals'; readonly at: string };

/**
 * A machine has 4,096 pseudo terminals, of which all sandboxes together get 3,072: without a limit one of them takes
 * them all, and `script` or `tmux` fails in the others. Far more than one rollout has windows.
 */
const mostTerminals = 32;

/** In `stageFolder`, one place for each; the same names for every sandbox, since no launch sees another's. */
export function stage(stageFolder: string, diskBytes: number, folders: readonly string[]) {
  const disk: StagedMount = { kind: 'disk', bytes: diskBytes, at: `${stageFolder}/disk` };
  const terminals: StagedMount = { kind: 'terminals', at: `${stageFolder}/pts` };
  const staged = folders.map((from, index): StagedMount => ({
    kind: 'folder',
    from,
    at: `${stageFolder}/${index}`,
  }));
  return [disk, terminals, ...staged] as const;
}

/** As `mount --all --fstab` reads them: one program mounts them all, where one for each would be dear. */
export function fstabOf(mounts: readonly StagedMount[]): string {
  return mounts.map((mount) => `${fstabLine(mount)} 0 0\n`).join('');
}

function fstabLine(mount: StagedMount): string {
  const at = fstabWord(mount.at);
  if (mount.kind === 'folder') return `${fstabWord(mount.from)} ${at} none rbind`;
  if (mount.kind === 'terminals') {
    return `corral-pts ${at} devpts newinstance,ptmxmode=0666,mode=0620,max=${mostTerminals},nosuid,noexec`;
  }
  return `corral-disk ${at} tmpfs size=${mount.bytes},mode=0711,nosuid,nodev`;
}

/** fstab separates by blanks, and a path may hold any. */
const fstabWord = (path: string) =>
  path.replaceAll(/[\s\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
