/** Aborts at the first Ctrl-C or SIGTERM, so that what was started can be taken down; a second one ends us at once. */
export function untilInterrupted(): AbortSignal {
  const controller = new AbortController();
  const interrupt = () => controller.abort(new Error('interrupted'));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  return controller.signal;
}

/** The work itself goes on, but whoever is interrupted ends, and nothing is left that it could go on with. */
export function unlessInterrupted<Done>(work: Promise<Done>, interrupted?: AbortSignal): Promise<Done> {
  if (interrupted === undefined) return work;
  const interruption = new Promise<never>((_, reject) => {
    interrupted.addEventListener('abort', () => reject(interrupted.reason as Error), { once: true });
  });
  return Promise.race([work, interruption]);
}
