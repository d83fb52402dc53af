import type { OutputStream } from '#src/protocol/sandboxd/wire.ts';
import type { RawCapture } from '../command/capture.ts';

export type Streams = Readonly<Record<OutputStream, RawCapture>>;

/**
 * What commands have printed beyond what an answer carries, for callers who asked for it. It stays here, and is fetched from
 * here: neither an answer nor fleet state grows by it. Room is bounded; what has ended first makes way for what begins. A
 * command for which there is none even then keeps what an answer carries, and says that it was cut.
 */
export class Outputs {
  readonly #mostBytes: number;
  readonly #kept = new Map<string, Streams>();
  #usedBytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Whether a command may keep so much; then it is to be given back by `keep`. */
  reserve(bytes: number): boolean {
    for (const [callId, streams] of this.#kept) {
      if (this.#usedBytes + bytes <= this.#mostBytes) break;
      this.#usedBytes -= sizeOf(streams);
      this.#kept.delete(callId);
    }
    if (this.#usedBytes + bytes > this.#mostBytes) return false;
    this.#usedBytes += bytes;
    return true;
  }

  /** Gives the room back, but for what there is to keep. */
  keep(callId: string, reservedBytes: number, streams: Streams | null): void {
    this.#usedBytes += (streams === null ? 0 : sizeOf(streams)) - reservedBytes;
    if (streams !== null) this.#kept.set(callId, streams);
  }

  /** Undefined where there was no more than the answer carries, or it had to make way. */
  find(callId: string): Streams | undefined {
    return this.#kept.get(callId);
  }
}

function sizeOf({ stdout, stderr }: Streams): number {
  return keptBytes(stdout) + keptBytes(stderr);
}

export function keptBytes({ head, tail }: RawCapture): number {
  return head.length + tail.length;
}
