/** Aborts at the first Ctrl-C or SIGTERM, so that what was started can be taken down; a second one ends us at once. */
export function untilInterrupted(): AbortSignal {
  const controller = new AbortController();
  const interrupt = () => controller.abort(new Error('interrupted'));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  return controller.signal;
}
