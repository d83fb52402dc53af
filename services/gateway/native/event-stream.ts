import { asFailure, type Failure } from '#src/failure/failure.ts';
import type { Clock } from '#src/ports/clock.ts';
import { eventId } from '#src/protocol/native/calls.ts';
import type { MutableOffsets, StreamOffsets } from '#src/protocol/sandboxd/wire.ts';
import type { Progress } from '../core-interface.ts';
import { presentCallResult } from './present-call.ts';

/*
 * A followed call as server-sent events. The `id` of each is what its reader has of both streams then, so it can go on from there.
 * The last one is `end` or `error`: a stream without it broke off.
 */

export type EventStream = {
  readonly progress: AsyncIterable<Progress>;
  readonly from: StreamOffsets;
  readonly clock: Clock;
  /** The body of a failure. */
  readonly present: (failure: Failure) => unknown;
};

/** Proxies and clients take a silent connection for a dead one after a minute. */
const pingMs = 15_000;
const ping = ': waiting\n\n';

export async function* eventStream({ progress, from, clock, present }: EventStream): AsyncGenerator<string> {
  const at = { ...from };
  const reading = progress[Symbol.asyncIterator]();
  try {
    // Sends the headers at once.
    yield ping;
    for (let isOver = false; !isOver;) {
      const next = reading.next();
      while (await isSilent(clock, next)) yield ping;
      const { done, value } = await next;
      isOver = done === true;
      if (done !== true) yield eventOf(value, at);
    }
  } catch (thrown) {
    yield event('error', at, present(asFailure(thrown)));
  } finally {
    // Not awaited: the client has disconnected.
    void Promise.resolve(reading.return?.()).catch(() => undefined);
  }
}

async function isSilent(clock: Clock, next: Promise<unknown>): Promise<boolean> {
  const heard = new AbortController();
  const settled = next.then(
    () => false,
    () => false,
  );
  const silence = clock.sleep(pingMs, heard.signal).then(() => true);
  try {
    return await Promise.race([settled, silence]);
  } finally {
    heard.abort();
  }
}

/** Moves `at`. */
function eventOf(progress: Progress, at: MutableOffsets): string {
  switch (progress.kind) {
    case 'output': {
      const { stream, at: begins, base64 } = progress;
      at[stream] = begins + Buffer.byteLength(base64, 'base64');
      return event('output', at, { stream, at: begins, base64 });
    }
    case 'gap': {
      const { stream, at: begins, bytes } = progress;
      at[stream] = begins + bytes;
      return event('gap', at, { stream, at: begins, bytes });
    }
    case 'end': {
      // Its streams have been read by now.
      const { base64: _, ...result } = progress.result;
      return event('end', at, presentCallResult({ ...result, stdout: '', stderr: '' }));
    }
  }
}

const event = (name: string, { stdout, stderr }: StreamOffsets, data: unknown): string =>
  `id: ${stdout}-${stderr}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Null if this is not the id of an event. */
export function parseEventId(id: string): StreamOffsets | null {
  if (!eventId.test(id)) return null;
  const [stdout = 0, stderr = 0] = id.split('-').map(Number);
  return { stdout, stderr };
}
