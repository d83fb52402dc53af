/** One thing that was tried. */
export type Check = {
  readonly environment: string;
  readonly what: string;
  readonly ok: boolean;
  /** What was seen, in a sentence. */
  readonly detail: string;
  readonly tookMs: number;
};

/** Runs the attempt; what it throws becomes a failed check, so that one failure does not hide the others. */
export async function tryOut(
  environment: string,
  what: string,
  attempt: () => Promise<Pick<Check, 'ok' | 'detail'>>,
): Promise<Check> {
  const startedMs = performance.now();
  const finish = (result: Pick<Check, 'ok' | 'detail'>): Check => ({
    environment,
    what,
    ...result,
    tookMs: performance.now() - startedMs,
  });
  try {
    return finish(await attempt());
  } catch (error) {
    return finish({ ok: false, detail: error instanceof Error ? error.message : String(error) });
  }
}
