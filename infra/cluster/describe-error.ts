import { CommandError, exitCodes } from '#cli/command-error.ts';

/** An error for the person at the terminal, with what caused it. */
export function describeError(error: unknown): string {
  if (!(error instanceof CommandError)) return `cluster: ${withCauses(error)}`;
  return `cluster: ${error.explanation}`;
}

const withCauses = (error: unknown): string =>
  error instanceof Error
    ? [error.message, ...(error.cause === undefined ? [] : [withCauses(error.cause)])].join(': ')
    : String(error);

/** The exit code of a process that ended with this error, or because it was interrupted. */
export function exitCodeOf(error: unknown, interrupted: AbortSignal): number {
  if (interrupted.aborted) return exitCodes.interrupted;
  return error instanceof CommandError ? error.exitCode : exitCodes.fleet;
}
