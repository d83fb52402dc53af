import type { ToolArguments } from './tool-arguments.ts';
import { walk } from './walk.ts';

/** More would push the rest of the rollout out of a model's context. */
const mostEntries = 1000;
const usualDepth = 1;

/** `{path?, depth?}`: files and folders, one a line; a folder's name ends in a slash. */
export function* listFiles(values: ToolArguments): Iterable<string> {
  const folder = values.optionalText('path') ?? '.';
  const depth = values.optionalNumber('depth', 1) ?? usualDepth;
  let listed = 0;
  for (const { path, isFolder } of walk(folder, depth, () => false)) {
    if (listed === mostEntries) {
      yield `[only the first ${mostEntries} entries are shown]\n`;
      return;
    }
    yield `${path}${isFolder ? '/' : ''}\n`;
    listed += 1;
  }
  if (listed === 0) yield '[the folder is empty]\n';
}
