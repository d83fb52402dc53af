/** A shell gives 128 and the number of the signal that ended its command, and a kill may not come again. */
const highestOwnExitCode = 128;

/** What only a change of the image or of the command fixes. A lack of memory or processes is another errno. */
const errnosOfCommand: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS']);

/** Whether a command of the environment's author most likely exits with this code in every other sandbox, until a person fixes it. */
export const exitsAlike = (exitCode: number): boolean => exitCode <= highestOwnExitCode;

/** Whether a command that could not be started most likely cannot be started in any other sandbox. */
export const failsToStartAlike = (errno: string): boolean => errnosOfCommand.has(errno);
