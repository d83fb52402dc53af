import { type Attempt, NotYet, type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';
import type { ProvidedSandbox } from '../ports/sandbox-provider.ts';
import type { Identity } from '../protocol/sandboxd/wire.ts';

export type AskTools = RetryDeps & { readonly link: Pick<SandboxLink, 'identity'> };

/**
 * How many are asked at once. What counts are the silent ones, each of which takes all the patience: thousands of them,
 * behind a network that is cut, must not keep the rest of the fleet waiting for minutes. A question is one small request.
 */
export const askedAtOnce = 256;

/** A request whose packets were lost must not take the time of the one that would arrive. */
const firstTryMs = 500;

/** What a sandbox says of itself; null when it says nothing in time, however often it is asked. */
export async function ask(
  tools: AskTools,
  { sandbox, address }: ProvidedSandbox,
  signal: AbortSignal,
): Promise<Identity | null> {
  if (address === null) return null;
  const target = { sandbox, address, boot: null };
  let longestMs = firstTryMs;
  const attempt: Attempt<Identity | null> = async ({ remainingMs }) => {
    const inTime = AbortSignal.timeout(Math.min(longestMs, remainingMs));
    longestMs = remainingMs;
    try {
      return await tools.link.identity(target, AbortSignal.any([signal, inTime]));
    } catch (thrown) {
      if (signal.aborted) return null;
      if (!(thrown instanceof LinkError) && !inTime.aborted) throw thrown;
      throw new NotYet(new Silent());
    }
  };
  return retrying(tools, retryPolicies.recoveredSandbox, attempt, { hurry: signal }).catch(nullIfSilent);
}

class Silent extends Error {}

function nullIfSilent(thrown: unknown): null {
  if (thrown instanceof Silent) return null;
  throw thrown;
}
