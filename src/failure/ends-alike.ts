import type { Ending } from '../protocol/sandboxd/wire.ts';

/** A shell gives 128 and the number of the signal that ended its command, and a kill may not come again. */
const highestOwnExitCode = 128;

/** What only a change of the image or of the command fixes. A lack of memory or processes is another errno. */
const errnosOfCommand: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS']);

/** Whether a command of the environment's author that exited so most likely does in every other sandbox, until a person fixes it. */
export const exitsAlike = (exitCode: number): boolean => exitCode <= highestOwnExitCode;

/** The same of a command that could not be started. */
export const failsToStartAlike = (errno: string): boolean => errnosOfCommand.has(errno);

/** The same of how it ended. */
export function endsAlike(ending: Ending): boolean {
  if (ending.kind === 'exited') return exitsAlike(ending.exitCode);
  return ending.kind === 'not_started' && failsToStartAlike(ending.errno);
}
