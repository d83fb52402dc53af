import { systemClock } from '#src/platform/clock.ts';

export type Wait = {
  /** Completes "… did not happen": what is waited for. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly everyMs?: number;
};

/** Asks until the answer is yes. Throws, with the last error that asking gave, when the time is over. */
export async function until(
  { what, timeoutMs, everyMs = 50 }: Wait,
  ask: () => Promise<boolean>,
): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + timeoutMs;
  for (;;) {
    const answer = await ask().catch((error: unknown) => ({ error }));
    if (answer === true) return;
    if (systemClock.monotonicMs() > deadlineMs) {
      const cause = answer === false ? undefined : answer.error;
      throw new Error(`${what} did not happen within ${Math.round(timeoutMs / 1000)} s`, { cause });
    }
    await systemClock.sleep(everyMs);
  }
}
