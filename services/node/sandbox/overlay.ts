import { existsSync, lstatSync, mkdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import { realPathIn } from '#src/protocol/sandboxd/real-path-in.ts';
import { places, policyId, type Users } from '../bwrap/places.ts';
import { type Attributes, makeSkeleton, type OwnFolder } from '../bwrap/skeleton.ts';
import type { Made, Rooted } from './root-plan.ts';
import { fstabOf, hostFolders, stage, type StagedMount } from './stage.ts';
import { closedMode, homeMode, isOutside, isRoomFor, openMode, sharedMode } from './writable-places.ts';

/** Where such a root is made, and of what. */
export type OverlaySite = {
  /** Where the image's files can be read. */
  readonly path: string;
  /** The folders that it is made of, the uppermost first. */
  readonly layers: readonly string[];
  readonly stageFolder: string;
  readonly idBase: number;
};

/**
 * A root that commands may write: makes the layer above the image, and writes down what the launch is to mount. Throws
 * `start_failed` for an image that has no room for it.
 */
export function stageOverlay(made: Made, payloadFolder: string, site: OverlaySite): Rooted {
  const { template, folder, users } = made;
  const { path, stageFolder, idBase } = site;
  refuseLineBreaks(site.layers);
  const shared = sharedFolders(made, path);
  const attributes = writeSkeleton(made, site, shared);
  const data = hostFolders(template);
  const from = [folder.run, payloadFolder, ...data.map(({ source }) => source)];
  const [disk, terminals, ...staged] = stage(stageFolder, template.diskBytes, from);
  const placeOf = (source: string) => staged[from.indexOf(source)]?.at ?? source;
  const at = (name: string) => join(stageFolder, name);
  const graderDisk = { kind: 'disk', bytes: template.diskBytes, at: at('graders'), owner: idBase } as const;
  const skeleton = { kind: 'folder', from: folder.skeleton, at: at('skeleton') } as const;
  const all: readonly StagedMount[] = [disk, graderDisk, skeleton, terminals, ...staged];
  writeFileSync(folder.fstab, fstabOf(all), { mode: 0o600 });
  for (const place of [...all.map((each) => each.at), ...['root', 'grader'].map(at)])
    mkdirSync(place, { recursive: true });
  const overlay = {
    at: at('root'),
    graders: users === 'two-user' ? at('grader') : null,
    graderDisk: graderDisk.at,
    shared,
    pinned: users === 'two-user' ? [...new Set(shared.flatMap((each) => pinnedOn(each, attributes)))] : [],
  };
  const root = {
    overlay,
    root: [],
    writable: [],
    etc: {},
    kept: [],
    emptyFile: '',
    payloadFolder: placeOf(payloadFolder),
    data: data.map(({ source, target }) => ({ source: placeOf(source), target })),
    runFolder: placeOf(folder.run),
    diskFolder: disk.at,
    terminalsFolder: terminals.at,
  };
  return {
    root,
    mounts: { fstab: folder.fstab, disk: { layers: site.layers, user: made.image.user, stage: stageFolder } },
  };
}

/** The launch gets one layer on each line: the rest of such a path would be a layer of its own, any folder of this machine. */
function refuseLineBreaks(layers: readonly string[]): void {
  const broken = layers.find((layer) => layer.includes('\n'));
  if (broken === undefined) return;
  throw new Failure('start_failed', `a line break is in ${JSON.stringify(broken)}; rename the folder`, {
    evidence: { path: broken },
  });
}

function writeSkeleton(
  made: Made,
  { path, idBase }: OverlaySite,
  shared: readonly string[],
): ReadonlyMap<string, Attributes> {
  const { template, folder, users, image, etc } = made;
  const { own, payload, grader, workspace, temporary } = places;
  const owner = ownerOf(users);
  // Closed to the grader: it reads what the policy has written as the policy's user.
  const mode = users === 'root' ? openMode : closedMode;
  return makeSkeleton(folder.skeleton, {
    image: path,
    user: image.user,
    idBase,
    mountPoints: [
      own,
      // In the root of graders, which has no file system there.
      payload,
      grader,
      ...kernelPlaces,
      ...shared,
      ...template.data.map(({ target }) => target),
    ],
    folders: [
      ...lackedBy(path, made),
      { path: temporary, owner: 0, mode: sharedMode },
      ...[workspace, ...(template.folders ?? [])].map((each) => ({ path: each, owner, mode })),
    ],
    etc,
  });
}

const ownerOf = (users: Users) => (users === 'root' ? 0 : policyId);

/** Folders in which programs expect to write, if the image does not have them. */
function lackedBy(path: string, { template, users, image }: Made): readonly OwnFolder[] {
  const home = { path: image.home, owner: ownerOf(users), mode: homeMode };
  const all = [
    { path: places.keptTemporary, owner: 0, mode: sharedMode },
    ...(isOutside(image.home) ? [home] : []),
  ];
  return all.filter((each) => isRoomFor(each.path, template, path) && !existsSync(join(path, each.path)));
}

const kernelPlaces = ['/proc', '/dev', '/sys'];

/** What the policy writes there is what graders grade. */
function sharedFolders({ template, image }: Made, path: string): readonly string[] {
  const workspace = image.workdir === null ? places.workspace : realWorkdir(image.workdir, path);
  const all = [...(template.folders ?? []), ...(workspace === null ? [] : [workspace])];
  // A folder in another one is mounted after it.
  return [...new Set(all)].toSorted((one, other) => one.length - other.length);
}

/** The image may name it by a link. Null for one that it lacks, in which no command can start, or that is the kernel's. */
function realWorkdir(workdir: string, path: string): string | null {
  const real = realPathIn(path, workdir, readlinkSync);
  const isOther = real === null || real === '/' || kernelPlaces.includes(real);
  return isOther || !isFolder(join(path, real)) ? null : real;
}

/**
 * The folders on the way to a shared one that the policy could put others in place of, itself included. Graders would then see the one
 * that was shared at the start, and not what the policy left at that path.
 */
function pinnedOn(shared: string, attributes: ReadonlyMap<string, Attributes>): readonly string[] {
  const above = posix.dirname(shared);
  if (above === shared) return [];
  const found = attributes.get(above);
  return [...pinnedOn(above, attributes), ...(found !== undefined && isOpen(found) ? [shared] : [])];
}

const othersMayWrite = 0o002;
const groupMayWrite = 0o020;

const isOpen = ({ owner, group, mode }: Attributes) =>
  owner === policyId || (mode & othersMayWrite) !== 0 || (group === policyId && (mode & groupMayWrite) !== 0);

const isFolder = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
