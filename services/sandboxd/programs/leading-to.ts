import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { realPathIn } from '#src/protocol/sandboxd/real-path-in.ts';
import { isAtOrBelow } from '#src/protocol/sandboxd/at-or-below.ts';

/*
 * Programs of the image that run what lies in other folders: by a link, or as a script whose interpreter is there.
 */

/** Folders, and the root in which their paths and those of programs begin. */
export type FoldersIn = { readonly root: string; readonly folders: Iterable<string> };

/** Whether running the program at this absolute path runs a file of these folders. */
export function leadsTo({ root, folders }: FoldersIn, program: string): boolean {
  const real = realPathIn(root, program, readlinkSync);
  const interpreter = real === null ? null : interpreterOf(`${root}${real}`);
  const realInterpreter = interpreter === null ? null : realPathIn(root, interpreter, readlinkSync);
  return [real, realInterpreter].some(
    (each) => each !== null && [...folders].some((folder) => isAtOrBelow(each, folder)),
  );
}

const mostNamed = 20;

/** Those of a PATH, at most some. */
export function programsLeadingTo(folders: FoldersIn, path: string): readonly string[] {
  const programs = path.split(':').flatMap((folder) => namesIn(`${folders.root}${folder}`, folder));
  return programs.filter((each) => leadsTo(folders, each)).slice(0, mostNamed);
}

function namesIn(at: string, folder: string): readonly string[] {
  try {
    return readdirSync(at).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** As many bytes of a script's first line count. */
const longestFirstLine = 256;

function interpreterOf(file: string): string | null {
  try {
    const fd = openSync(file, 'r');
    try {
      const head = Buffer.alloc(longestFirstLine);
      const text = head.toString('latin1', 0, readSync(fd, head));
      const [program = ''] = text.slice(2).trimStart().split(/\s/, 1);
      return text.startsWith('#!') && program.startsWith('/') ? program : null;
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}
