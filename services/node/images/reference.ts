import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { archiveOf, hostOf } from '#src/environments/image-text.ts';
import { Failure } from '#src/failure/failure.ts';
import type { Image } from '#src/model/environment.ts';

/** An image that is pulled. */
export type Wanted = Omit<Extract<Image, { kind: 'image' }>, 'kind'>;

/** Where an image comes from, as skopeo names it. */
export type Source = {
  /** Under which the store keeps it. An archive that has changed has another one. */
  readonly key: string;
  /** What is read, in skopeo's words. */
  readonly name: string;
  /** The file or folder of this machine that is read; null: a registry. */
  readonly archive: string | null;
  /** The registry; null: an archive. */
  readonly registry: string | null;
  /**
   * Images and layers are shared within it: who knows the digests of an image can have a registry name them, and would get the files of an
   * image that only others, or only credentials, may read.
   */
  readonly scope: string;
  /** Whether it is read without credentials. */
  readonly isAnonymous: boolean;
  /** A registry of this machine may speak plain HTTP, as for container engines. */
  readonly isPlain: boolean;
};

/** Where the archive is for the process that reads it. */
export const archiveInside = '/archive';

/** Throws `image_unavailable` for an archive that does not exist. */
export function sourceOf(wanted: Wanted): Source {
  const { reference } = wanted;
  const archive = archiveOf(reference);
  if (archive === null) return registrySource(wanted);
  const { transport, path } = archive;
  const found = statOf(path);
  if (found === undefined) throw noArchive(reference, path);
  return {
    key: `${reference} ${versionOf(found)}`,
    name: `${transport}:${archiveInside}`,
    archive: path,
    registry: null,
    scope: 'archives',
    isAnonymous: false,
    isPlain: false,
  };
}

/** What a file is now. Builders that repeat their work write fixed times and sizes; when and where it was written, the file system alone says. */
const versionOf = ({ size, mtimeMs, ctimeMs, ino, dev }: Stats): string =>
  [size, mtimeMs, ctimeMs, ino, dev].join(' ');

/** Of a folder, its index: that is written whenever an image in it changes. */
function statOf(path: string) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return found;
  return statSync(join(path, 'index.json'), { throwIfNoEntry: false });
}

/** One that was pulled with credentials is another one: it is here for those only who may use these. */
function registrySource({ reference, anonymous }: Wanted): Source {
  const registry = hostOf(reference) ?? 'docker.io';
  return {
    key: anonymous === true ? `anonymous ${reference}` : reference,
    name: `docker://${withoutTag(reference)}`,
    archive: null,
    registry,
    scope: anonymous === true ? `anonymous ${registry}` : registry,
    isAnonymous: anonymous === true,
    isPlain: /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/.test(registry),
  };
}

/** A digest says all. skopeo refuses a name that has a tag too, which other engines and clusters take. */
function withoutTag(reference: string): string {
  const [named = '', digest] = reference.split('@');
  const colon = named.lastIndexOf(':');
  return digest === undefined || colon <= named.lastIndexOf('/')
    ? reference
    : `${named.slice(0, colon)}@${digest}`;
}

const noArchive = (reference: string, path: string) =>
  new Failure(
    'image_unavailable',
    `the image ${reference} is not available: there is no ${path} on this machine`,
    {
      evidence: { image: reference },
    },
  );
