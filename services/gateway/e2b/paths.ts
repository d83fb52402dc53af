import { invalid } from '../http/answer-failure.ts';

/*
 * Paths as E2B's clients write them: absolute, below the home with `~/`, or relative to it. The sandbox's own user walks them, in
 * the sandbox, so there is nowhere that they could lead out to.
 */

/** As our files and commands take it. */
export function inSandbox(path: string): string {
  if (path.includes('\0')) throw invalid('a path holds no NUL');
  return path === '~' ? '.' : path.replace(/^~\//, './');
}

/** For a shell's own commands: nothing that it could take for an option. */
export function asArgument(path: string): string {
  const told = inSandbox(path);
  return told.startsWith('/') ? told : `./${told}`;
}

/** Without the slashes that a folder's path may end in. */
export function withoutEnd(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

export const baseName = (path: string): string => withoutEnd(path).split('/').at(-1) ?? '';
