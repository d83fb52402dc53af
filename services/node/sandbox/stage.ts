import { chmodSync, chownSync, cpSync, lchownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SourceFolder, Template } from '#src/model/environment.ts';
import type { DiskPlan } from '../bwrap/launch.ts';
import { policyId, type Users } from '../bwrap/places.ts';
import type { EtcPlan } from './own-etc.ts';
import type { SandboxFolder } from './record.ts';
import type { WritablePlace } from './writable-places.ts';

/** Folders of the host that a sandbox is made of, where its launch finds them. */
export type Sources = {
  readonly run: string;
  readonly payload: string;
  readonly etc: string;
  /** The sandbox's own files of it. */
  readonly ownEtc: string;
  /** Null: bubblewrap makes its own. */
  readonly terminals: string | null;
  readonly image: string | null;
  /** Its own files of /etc above the image's; null: they are bound one by one. */
  readonly layers: string | null;
  readonly data: readonly SourceFolder[];
};

export type SiteFolders = {
  readonly payloadFolder: string;
  /** Folder with our own files of /etc. */
  readonly etcFolder: string;
  /** Folder that every id may enter, where launches mount what a sandbox is made of; null without root: no mounts. */
  readonly stageFolder: string | null;
};

type DiskMounts = { readonly fstab: string; readonly disk: DiskPlan };

type Decided = {
  readonly users: Users;
  readonly idBase: number | null;
  readonly etcPlan: EtcPlan;
  readonly writable: readonly WritablePlace[];
};

/** Writes down what the launch is to mount; without root it mounts nothing, and everything is where it is. */
export function stageSources(
  template: Template,
  folder: SandboxFolder,
  { payloadFolder, etcFolder, stageFolder }: SiteFolders,
  { users, idBase, etcPlan, writable }: Decided,
): { readonly sources: Sources; readonly mounts: DiskMounts | null } {
  const image = template.image.kind === 'rootfs' ? template.image.path : null;
  const data = hostFolders(template);
  const hosts = { run: folder.run, payload: payloadFolder, etc: etcFolder, ownEtc: folder.etc };
  // Without root there is no mount of ours: bubblewrap makes the disk inside the sandbox's user namespace.
  if (stageFolder === null)
    return { sources: { ...hosts, image, data, terminals: null, layers: null }, mounts: null };
  const from = [
    ...Object.values(hosts),
    ...(image === null ? [] : [image]),
    ...data.map(({ source }) => source),
  ];
  const [disk, terminals, ...staged] = stage(stageFolder, template.diskBytes, from);
  const placeOf = (path: string) => staged[from.indexOf(path)]?.at ?? path;
  const layers =
    image !== null && etcPlan === 'layered'
      ? layersAt(stageFolder, [placeOf(folder.etc), join(placeOf(image), 'etc')])
      : null;
  const all = [disk, terminals, ...staged, ...(layers === null ? [] : [layers])];
  for (const { at } of all) mkdirSync(at, { recursive: true });
  writeFileSync(folder.fstab, fstabOf(all), { mode: 0o600 });
  makeDisk(folder.disk, writable, users, idBase ?? 0);
  return {
    sources: {
      run: placeOf(hosts.run),
      payload: placeOf(hosts.payload),
      etc: placeOf(hosts.etc),
      ownEtc: placeOf(hosts.ownEtc),
      terminals: terminals.at,
      image: image === null ? null : placeOf(image),
      layers: layers?.at ?? null,
      data: data.map(({ source, target }) => ({ source: placeOf(source), target })),
    },
    mounts: { fstab: folder.fstab, disk: { folder: disk.at, from: folder.disk } },
  };
}

/** As the launch copies it into the mounted one. `base`: the host's id of the sandbox's user 0. */
function makeDisk(folder: string, writable: readonly WritablePlace[], users: Users, base: number): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const { name, owner, mode, filledFrom } of writable) {
    const id = base + (owner === 'root' || users === 'root' ? 0 : policyId);
    const place = join(folder, name);
    if (filledFrom === null) mkdirSync(place, { recursive: true });
    else cpSync(filledFrom, place, { recursive: true, verbatimSymlinks: true });
    for (const each of readdirSync(place, { recursive: true, encoding: 'utf8' }))
      lchownSync(join(place, each), id, id);
    chownSync(place, id, id);
    chmodSync(place, mode);
  }
}

/** What a program made is a folder by now (`data/built-data.ts`), and what an image holds was refused before. */
export function hostFolders({ data }: Template): readonly SourceFolder[] {
  return data.filter((folder) => 'source' in folder);
}

/**
 * What of this host's folders a sandbox is made of, as its launch sees it. bubblewrap runs under ids that may enter
 * nothing closed to others, and a state folder, a checkout in /root or a corpus in somebody's home is: so host root
 * mounts each of them at a place that all may enter, in the launch's own mount namespace, where the host never sees it.
 */
export type StagedMount =
  | { readonly kind: 'folder'; readonly from: string; readonly at: string }
  /** `owner`: this host's id of who may write there; without it host root. */
  | { readonly kind: 'disk'; readonly bytes: number; readonly at: string; readonly owner?: number }
  | { readonly kind: 'terminals'; readonly at: string }
  /** Folders of places staged before it, the first above the others, read-only. */
  | { readonly kind: 'layers'; readonly from: readonly string[]; readonly at: string };

/**
 * A machine has 4,096 pseudo terminals, of which all sandboxes together get 3,072: without a limit one of them takes
 * them all, and `script` or `tmux` fails in the others. Far more than one rollout has windows. `terminals.ts` makes the machine's enough
 * for all sandboxes.
 */
export const mostTerminals = 32;

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

/** `folders`: of places that are staged, the first above the others. */
export const layersAt = (stageFolder: string, folders: readonly string[]): StagedMount => ({
  kind: 'layers',
  from: folders,
  at: `${stageFolder}/etc`,
});

/** As `mount --all --fstab` reads them: one program mounts them all, where one for each would be expensive. */
export function fstabOf(mounts: readonly StagedMount[]): string {
  return mounts.map((mount) => `${fstabLine(mount)} 0 0\n`).join('');
}

function fstabLine(mount: StagedMount): string {
  const at = fstabWord(mount.at);
  if (mount.kind === 'folder') return `${fstabWord(mount.from)} ${at} none rbind`;
  if (mount.kind === 'terminals') {
    return `corral-pts ${at} devpts newinstance,ptmxmode=0666,mode=0620,max=${mostTerminals},nosuid,noexec`;
  }
  // No path in here needs a word of its own for overlay's separators: `tryLayers` has seen to it.
  if (mount.kind === 'layers') return `corral-layers ${at} overlay ro,lowerdir=${mount.from.join(':')}`;
  const owner = mount.owner === undefined ? '' : `,uid=${mount.owner},gid=${mount.owner}`;
  return `corral-disk ${at} tmpfs size=${mount.bytes},mode=0711,nosuid,nodev${owner}`;
}

/** fstab separates by blanks, and a path may hold any. */
const fstabWord = (path: string) =>
  path.replaceAll(/[\s\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
