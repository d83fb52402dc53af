import type { Clock } from '../ports/clock.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import type { SandboxLink } from '../ports/sandbox-link.ts';
import type { ProvidedSandbox } from '../ports/sandbox-provider.ts';
import type { Identity } from '../protocol/sandboxd/wire.ts';

export type AskTools = {
  readonly link: Pick<SandboxLink, 'identity'>;
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
};

/**
 * An identity takes a millisecond, also while commands run. Everybody's requests wait for the slowest answer, so one
 * that has not come by then is asked for again later, when the others go on.
 */
const patienceMs = 1_500;
/** A request whose packets were lost must not take the time of the one that would arrive. */
const firstTryMs = 500;
/** A connection that broke is mostly one broken connection: the next is made at once, and a daemon that starts gets time. */
const pausesMs = [10, 50, 200] as const;
const longestPauseMs = 400;

/** What a sandbox says of itself; null when it says nothing in time, however often it is asked. */
export async function ask(
  { link, clock }: AskTools,
  { sandbox, address }: ProvidedSandbox,
  signal: AbortSignal,
): Promise<Identity | null> {
  if (address === null) return null;
  const untilMs = clock.monotonicMs() + patienceMs;
  for (let tries = 0; !signal.aborted; tries += 1) {
    const leftMs = untilMs - clock.monotonicMs();
    if (leftMs <= 0) return null;
    const inTime = AbortSignal.timeout(Math.ceil(tries === 0 ? firstTryMs : leftMs));
    try {
      return await link.identity({ sandbox, address, boot: null }, AbortSignal.any([signal, inTime]));
    } catch (thrown) {
      if (!(thrown instanceof LinkError) && !inTime.aborted && !signal.aborted) throw thrown;
    }
    await clock.sleep(Math.min(pausesMs[tries] ?? longestPauseMs, untilMs - clock.monotonicMs()), signal);
  }
  return null;
}
