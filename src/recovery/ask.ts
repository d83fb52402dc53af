import { LinkError } from '../ports/sandbox-link.ts';
import type { SandboxLink } from '../ports/sandbox-link.ts';
import type { ProvidedSandbox } from '../ports/sandbox-provider.ts';
import type { Identity } from '../protocol/sandboxd/wire.ts';

/**
 * An identity takes a millisecond, also while commands run. Everybody's requests wait for the slowest answer, so one
 * that takes longer than this is asked again later, when the others go on.
 */
const identityTimeoutMs = 1_500;

/** What a sandbox says of itself; null when it says nothing in time. */
export async function ask(
  link: Pick<SandboxLink, 'identity'>,
  { sandbox, address }: ProvidedSandbox,
  signal: AbortSignal,
): Promise<Identity | null> {
  if (address === null) return null;
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(identityTimeoutMs)]);
  try {
    return await link.identity({ sandbox, address, boot: null }, inTime);
  } catch (thrown) {
    if (thrown instanceof LinkError || inTime.aborted) return null;
    throw thrown;
  }
}
