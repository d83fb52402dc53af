import type { Clock } from '../ports/clock.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';
import type { ProvidedSandbox } from '../ports/sandbox-provider.ts';
import type { Identity } from '../protocol/sandboxd/wire.ts';

export type AskTools = {
  readonly link: Pick<SandboxLink, 'identity'>;
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
};

/**
 * How many are asked at once. What counts are the silent ones, each of which takes all the patience: thousands of them,
 * behind a network that is cut, must not keep the rest of the fleet waiting for minutes. A question is one small request.
 */
export const askedAtOnce = 256;

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
    const untilOverMs = Math.max(0, untilMs - clock.monotonicMs());
    await clock.sleep(Math.min(pausesMs[tries] ?? longestPauseMs, untilOverMs), signal);
  }
  return null;
}
