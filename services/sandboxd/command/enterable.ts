import { accessSync, constants } from 'node:fs';

/**
 * A working folder is entered before the user is switched, and sandboxd as root may lack the privilege to enter a folder
 * that only its owner may. Then the image's shell, already the command's user, enters it.
 */
export function enterable(
  cwd: string,
  argv: readonly string[],
): { readonly argv: readonly string[]; readonly cwd: string } {
  try {
    accessSync(cwd, constants.X_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') {
      return { argv: ['/bin/sh', '-c', 'cd -- "$0" && exec "$@"', cwd, ...argv], cwd: '/' };
    }
  }
  return { argv, cwd };
}
