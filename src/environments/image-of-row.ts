import { posix } from 'node:path';
import type { Image, ImageOfRow } from '../model/environment.ts';
import { imageOf, imageText } from './image-text.ts';
import { matchesOne } from './patterns.ts';

/** Far above any real reference or path; a longer text is not looked at. */
const longestText = 1_024;

/** As registries have them: `host[:port]/path/name[:tag][@digest]`, with nothing that could climb or mean something else. */
const domain = String.raw`[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?`;
const component = '[a-z0-9]+(?:(?:[.]|_{1,2}|-+)[a-z0-9]+)*';
const tag = String.raw`:\w[\w.-]{0,127}`;
const digest = '@sha256:[a-f0-9]{64}';
const reference = new RegExp(`^(?:${domain}/)?${component}(?:/${component})*(?:${tag})?(?:${digest})?$`);

/** The image that a dataset row names, or why it may not: the end of a sentence that begins with what it says. */
export type RowsImage =
  | { readonly kind: 'image'; readonly image: Image }
  | { readonly kind: 'refused'; readonly because: string };

/**
 * Reads an image from a row; null: its field is no text. The text is checked whole before it is compared with a
 * pattern, and goes on as the one value of a field: `*` stands for anything, so a path with `..` in it could match and
 * lead elsewhere.
 */
export function imageOfRow(text: string | null, { allow, permitted }: ImageOfRow): RowsImage {
  const image = text === null || text.length > longestText ? null : wellFormed(imageOf(text));
  if (image === null) return refused('which is neither an image reference nor rootfs: and an absolute path');
  const written = imageText(image);
  if (!matchesOne(allow, written)) {
    return refused(
      `and the environment allows ${listed(allow)}; correct the row, or add it to sandbox.image.allow`,
    );
  }
  if (!matchesOne(permitted, written)) {
    return refused(`and the operator allows ${listed(permitted)}; use one of those, or ask the operator`);
  }
  return { kind: 'image', image };
}

/** Whoever sends rows may choose among folders and images, never this machine's own programs. */
function wellFormed(image: Image): Image | null {
  switch (image.kind) {
    case 'host':
      return null;
    case 'rootfs':
      return isPlainPath(image.path) ? image : null;
    case 'image':
      return reference.test(image.reference) ? image : null;
  }
}

const isPlainPath = (path: string): boolean =>
  posix.isAbsolute(path) && posix.normalize(path) === path && !path.includes('\0');

const refused = (because: string): RowsImage => ({ kind: 'refused', because });

const listed = (patterns: readonly string[]): string => patterns.join(', ') || 'none';
