import { chmodSync, chownSync, mkdirSync, type Stats, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import type { SourceFolder, Template } from '#src/model/environment.ts';
import { diskFolderName, type Users } from '../bwrap/arguments.ts';
import type { LaunchSpec } from '../bwrap/launch.ts';
import { policyId } from '../bwrap/places.ts';
import { fstabOf, stage } from '../bwrap/stage.ts';
import type { Site } from './build.ts';
import type { SandboxFolder } from './record.ts';

/** Folders of the host that a sandbox is made of, where its launch finds them. */
export type Sources = {
  readonly run: string;
  readonly payload: string;
  readonly etc: string;
  /** Null: bubblewrap makes its own. */
  readonly terminals: string | null;
  readonly image: string | null;
  readonly data: readonly SourceFolder[];
};

/** Writes down what the launch is to mount; without root it mounts nothing, and everything is where it is. */
export async function stageSources(
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
export async function checkFolders(template: Template, users: Users, idBase: number | null): Promise<void> {
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
