import { createInterface } from 'node:readline';
import { Client } from 'undici';
import { Compile } from 'typebox/compile';
import type { Clock } from '#src/ports/clock.ts';
import type { ProviderEvent } from '#src/ports/sandbox-provider.ts';
import { longestPauseMs } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';
import { WatchLine, watchSilenceMs } from '#src/protocol/node/wire.ts';

const lineCheck = Compile(WatchLine);

export type WatchOptions = {
  readonly socketPath: string;
  readonly clock: Clock;
  readonly onEvent: (event: ProviderEvent) => void;
  readonly signal: AbortSignal;
};

/** Watches until the signal aborts, over as many connections as it takes. Never rejects. */
export async function watchNode(options: WatchOptions): Promise<void> {
  const { clock, signal } = options;
  let failed = 0;
  while (!signal.aborted) {
    const heard = await watchOnce(options);
    failed = heard ? 1 : failed + 1;
    await clock.sleep(longestPauseMs(retryPolicies.nodeWatch.pauses, failed), signal);
  }
}

/** One connection, until it ends in whatever way; returns whether it brought anything. */
async function watchOnce({ socketPath, onEvent, signal }: WatchOptions): Promise<boolean> {
  // undici ends a body that is silent for longer; node says something every few seconds.
  const client = new Client('http://node', {
    socketPath,
    headersTimeout: watchSilenceMs,
    bodyTimeout: watchSilenceMs,
  });
  let heard = false;
  try {
    const { body, statusCode } = await client.request({ method: 'GET', path: '/watch', signal });
    if (statusCode !== 200) return false;
    // Aborted between two lines it is an error that nobody else hears, and that would end the process.
    body.on('error', () => undefined);
    for await (const line of createInterface({ input: body })) {
      if (signal.aborted) break;
      const event = eventIn(line);
      heard = true;
      if (event !== null) onEvent(event);
    }
  } catch {
    // Whatever ended it: the next connection starts from the whole list.
  } finally {
    await client.destroy();
  }
  return heard;
}

/** Null for a sign of life. Throws on a line that is none of node's, which ends the connection. */
function eventIn(line: string): ProviderEvent | null {
  const value: unknown = JSON.parse(line);
  if (!lineCheck.Check(value)) throw new Error(`node sent an unknown line: ${line.slice(0, 200)}`);
  return value.kind === 'alive' ? null : value;
}
