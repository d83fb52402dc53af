/** Tells sandboxd why the path could not be served; the exit code to leave with. */
export function reportErrno(error: unknown): 1 {
  const message = error instanceof Error ? error.message : String(error);
  const errno = error instanceof Error && 'code' in error ? String(error.code) : 'UNKNOWN';
  process.stderr.write(JSON.stringify({ errno, message }));
  return 1;
}
