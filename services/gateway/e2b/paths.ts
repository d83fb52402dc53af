import { invalid } from '../http/failure-of.ts';

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

export const baseName = (path: string): string => path.replace(/\/+$/, '').split('/').at(-1) ?? '';
