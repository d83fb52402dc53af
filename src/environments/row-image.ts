import { posix } from 'node:path';
import { Failure } from '../failure/failure.ts';
import type { Image, ImageOfRow } from '../model/environment.ts';
import type { Item, Json } from '../model/grader.ts';
import { archiveOf, hostOf, imageOf, imageText, isInside } from './image-text.ts';
import { matchesOne } from './policy.ts';

/**
 * The image that a row names. Throws `item_missing` where the row names none and `invalid_request` where it names one that may
 * not be.
 */
export function imageOfRow(environment: string, from: ImageOfRow, item: Item | null): Image {
  const { field } = from;
  const value = item?.[field];
  if (value === undefined || value === null || value === '') throw missing(environment, field);
  const chosen = checkImage(typeof value === 'string' ? value : null, from);
  if (chosen.kind === 'refused') throw notAllowed(environment, field, value, chosen.because);
  return chosen.image;
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

function missing(environment: string, field: string): Failure {
  return new Failure(
    'item_missing',
    `environment ${environment} takes its image from the item field ${field}, and the row of this rollout does not have it; ` +
      'send the whole row as `item`',
    { evidence: { field } },
  );
}

/** As much of a value as a sentence bears. */
const shownChars = 200;

function notAllowed(environment: string, field: string, value: Json, because: string): Failure {
  const shown = textOf(value).slice(0, shownChars);
  return new Failure(
    'invalid_request',
    `environment ${environment} takes its image from the item field ${field}, which says ${JSON.stringify(shown)}, ${because}`,
    { evidence: { field, image: shown } },
  );
}

/** The image that a dataset row names, or why it may not: the end of a sentence that begins with what it says. */
type RowsImage =
  | { readonly kind: 'image'; readonly image: Image }
  | { readonly kind: 'refused'; readonly because: string };

/**
 * Reads an image from a row; null: its field is no text. The text is checked whole before it is compared with a
 * pattern, and goes on as the one value of a field: `*` stands for anything, so a path with `..` in it could match and
 * lead elsewhere.
 */
function checkImage(text: string | null, { field, allow, permitted }: ImageOfRow): RowsImage {
  const image = text === null || text.length > longestText ? null : wellFormed(imageOf(text));
  if (image === null)
    return refused('which is neither an image reference nor rootfs: or an archive with an absolute path');
  const written = imageText(image);
  if (!matchesOne(forKind(image, allow), written)) {
    return refused(
      `and the environment allows ${listed(allow)}; correct ${field} in the row, or add the image to sandbox.image.allow${hint(image)}`,
    );
  }
  if (!matchesOne(permitted, written)) {
    return refused(`and the operator allows ${listed(permitted)}; use one of those, or ask the operator`);
  }
  return { kind: 'image', image: withoutCredentials(image, allow) };
}

/**
 * A folder or an archive of this machine needs a pattern that begins with its kind (`rootfs:`), and a registry inside the operator's network
 * needs one that begins with its host. `*` allows every image of public registries, but a row must not open any folder here, or make this
 * machine send requests to any address that only it reaches.
 */
function forKind(image: Image, allow: readonly string[]): readonly string[] {
  const prefix = prefixOf(image);
  return prefix === null ? allow : allow.filter((pattern) => pattern.startsWith(prefix));
}

/** Of what is on this machine or in its network; null: an image of another registry. */
function prefixOf(image: Image): string | null {
  if (image.kind === 'rootfs') return 'rootfs:';
  const archive = image.kind === 'image' ? archiveOf(image.reference) : null;
  if (archive !== null) return `${archive.transport}:`;
  const host = image.kind === 'image' ? hostOf(image.reference) : null;
  return host !== null && isInside(host) ? `${host}/` : null;
}

/** An image for which only a pattern for many registries speaks is pulled as anyone could pull it. */
function withoutCredentials(image: Image, allow: readonly string[]): Image {
  if (image.kind !== 'image' || archiveOf(image.reference) !== null) return image;
  const host = hostOf(image.reference);
  const named = allow.filter((pattern) =>
    host === null ? !pattern.startsWith('*') : pattern.startsWith(`${host}/`),
  );
  return matchesOne(named, image.reference) ? image : { ...image, anonymous: true };
}

function hint(image: Image): string {
  const prefix = prefixOf(image);
  return prefix === null ? '' : `, as a pattern that begins with ${prefix}`;
}

/** A row may name a folder or an image, but never this machine's own programs. */
function wellFormed(image: Image): Image | null {
  switch (image.kind) {
    case 'host':
      return null;
    case 'rootfs':
      return isPlainPath(image.path) ? image : null;
    case 'image':
      return isArchive(image.reference) || isReference(image.reference) ? image : null;
  }
}

function isArchive(reference: string): boolean {
  const archive = archiveOf(reference);
  return archive !== null && isPlainPath(archive.path);
}

/** A list of paths has one on each line, so a line break in one would name another folder too. */
const isPlainPath = (path: string): boolean =>
  posix.isAbsolute(path) && posix.normalize(path) === path && !/\p{Cc}/u.test(path);

const refused = (because: string): RowsImage => ({ kind: 'refused', because });

const listed = (patterns: readonly string[]): string => patterns.join(', ') || 'none';

/** Far above any real reference or path; a longer text is not looked at. */
const longestText = 1_024;

const tag = /^\w[\w.-]{0,127}$/;
const digest = /^sha256:[a-f0-9]{64}$/;
const hostCharacters = /^[A-Za-z0-9.-]+$/;
const port = /^\d{1,5}$/;
const alphanumeric = /^[A-Za-z0-9]$/;

/** What may stand between two runs of letters and digits. */
const separators = new Set(['', '.', '_', '__']);
const dashes = /^-+$/;

/** As registries have them: `host[:port]/path/name[:tag][@digest]`, with nothing that could climb or mean something else. */
function isReference(text: string): boolean {
  const [named = '', pinned, ...more] = text.split('@');
  if (more.length > 0 || (pinned !== undefined && !digest.test(pinned))) return false;
  const parts = named.split('/');
  const [name = '', tagged, ...colons] = (parts.pop() ?? '').split(':');
  if (colons.length > 0 || (tagged !== undefined && !tag.test(tagged)) || !isComponent(name)) return false;
  const [host, ...path] = parts;
  return path.every(isComponent) && (host === undefined || isComponent(host) || isHost(host));
}

function isHost(text: string): boolean {
  const [name = '', number, ...more] = text.split(':');
  if (more.length > 0 || (number !== undefined && !port.test(number))) return false;
  return (
    hostCharacters.test(name) && alphanumeric.test(name.at(0) ?? '') && alphanumeric.test(name.at(-1) ?? '')
  );
}

/** Small letters and digits, with separators only between them. */
function isComponent(text: string): boolean {
  const between = text.split(/[a-z0-9]/);
  if (between.length < 2 || between.at(0) !== '' || between.at(-1) !== '') return false;
  return between.every((separator) => separators.has(separator) || dashes.test(separator));
}
