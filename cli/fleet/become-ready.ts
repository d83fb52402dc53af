import type { Clock } from '#src/ports/clock.ts';
import type { PartExit, PartProcess, PartSpec } from './part-process.ts';

/** Between two questions whether a part is ready. */
const askEveryMs = 25;
/** One question; a part that takes longer is busy starting and is asked again. */
const askTimeoutMs = 2_000;

export type ReadyOptions = {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Aborts when the part is being stopped. */
  readonly stopping: AbortSignal;
};

/** Resolves with the milliseconds it took when the part answers ready; rejects when it ends first, when it takes too long, or when we stop. */
export async function becomeReady(
  spec: PartSpec,
  process: PartProcess,
  { clock, deadlineMs, stopping }: ReadyOptions,
): Promise<number> {
  const startedAtMs = clock.monotonicMs();
  for (;;) {
    const exit = process.exit();
    if (exit !== null) throw new Error(`it ended at once (${describeExit(exit)})`);
    if (stopping.aborted) throw new Error('stopped');
    if (await answersReady(spec)) break;
    if (clock.monotonicMs() - startedAtMs > deadlineMs) {
      throw new Error(`it was not ready within ${Math.round(deadlineMs / 1000)} s`);
    }
    await clock.sleep(askEveryMs, stopping);
  }
  return clock.monotonicMs() - startedAtMs;
}

/** Connection refused, no socket yet, a half-written answer: all of them mean "not yet". */
async function answersReady(spec: PartSpec): Promise<boolean> {
  try {
    return await spec.isReady(AbortSignal.timeout(askTimeoutMs));
  } catch {
    return false;
  }
}

export const describeExit = ({ code, signal }: PartExit): string =>
  signal === null ? `exit code ${code}` : signal.startsWith('SIG') ? `killed by ${signal}` : signal;
