import { isUtf8 } from 'node:buffer';
import type { FileContent, RowFiles } from '#src/model/grader.ts';
import { itemFieldOf, placeholdersIn } from '#src/model/placeholder.ts';
import type { InHand, Yaml } from './grader.ts';

/** They are part of the environment, which every gateway and controller has in memory, and go to a grade by row. */
const mostBytesOfAll = 8 * 1024 * 1024;

/**
 * The hidden files of all rows, by what a row says of itself. A row's word chooses among names that were read here, once,
 * and is never part of a path, so that it may say what it likes.
 */
export function rowFilesOf(
  { files = {} }: Yaml<'command'>,
  { place, folder, report }: InHand,
): { readonly rowFiles?: RowFiles } {
  const { from } = files;
  if (from === undefined) return {};
  const field = placeholdersIn(from).map(itemFieldOf)[0] ?? '';
  const above = from.slice(0, from.indexOf('{'));
  const names = folder.foldersIn(above === '' ? '.' : above);
  const where = [...place, 'files', 'from'];
  if (names.length === 0) report(where, `finds no folder of a row in ${above === '' ? 'this one' : above}`);
  let allBytes = 0;
  const folders = names.map((name) => {
    const tree = folder.filesBelow(`${above}${name}`);
    const files = typeof tree === 'string' ? {} : tree;
    if (typeof tree === 'string') report(where, `names ${above}${name}/, which ${tree}`);
    const bytes = Object.values(files).reduce((sum, { length }) => sum + length, 0);
    allBytes += bytes;
    return [
      name,
      Object.fromEntries(Object.entries(files).map(([path, one]) => [path, contentOf(one)])),
    ] as const;
  });
  if (allBytes > mostBytesOfAll)
    report(
      where,
      `has ${allBytes} bytes for all rows, of at most ${mostBytesOfAll}: put what rows share into the image`,
    );
  return { rowFiles: { field, folders: Object.fromEntries(folders) } };
}

const contentOf = (bytes: Buffer): FileContent =>
  isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') };
