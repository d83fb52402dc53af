import type { Writable } from 'node:stream';
import { setImmediate as afterWriting } from 'node:timers/promises';
import type { StdinReply } from '#src/protocol/sandboxd/wire.ts';
import { WireError } from '../wire-error.ts';

/** What a command has not read yet. A piece is taken as long as less than this waits, so at most this and one piece do. */
const mostWaitingBytes = 1024 * 1024;

export type StdinChunk = { readonly offset: number; readonly bytes: Buffer; readonly isLast: boolean };

/**
 * The stdin of a command that is given to it in pieces. Each piece says at which offset it begins, and bytes that came before are
 * skipped: a client that does not know whether a piece arrived sends it again. Pieces that come before the command runs wait for it.
 */
export class OpenStdin {
  #pipe: Writable | null = null;
  #receivedBytes = 0;
  #waitingBytes = 0;
  readonly #early: Buffer[] = [];
  #isEnded = false;
  #isClosed = false;
  #moved: PromiseWithResolvers<void> | null = null;

  /** The command runs. */
  writeTo(pipe: Writable): void {
    if (this.#isClosed) return;
    this.#pipe = pipe;
    pipe.once('close', () => this.close());
    for (const bytes of this.#early.splice(0)) this.#write(pipe, bytes);
    if (this.#isEnded) pipe.end();
  }

  /** The command has ended, or has closed its stdin. */
  close(): void {
    this.#isClosed = true;
    this.#pipe = null;
    this.#early.length = 0;
    this.#move();
  }

  /** Accepts the piece if the buffer has room within `waitMs`. Throws `invalid_request` if `offset` skips bytes. */
  async take(piece: StdinChunk, waitMs: number, gone: AbortSignal): Promise<StdinReply> {
    if (!this.#hasRoom) await this.#moveWithin(waitMs, gone);
    if (piece.offset > this.#receivedBytes)
      throw new WireError(
        'invalid_request',
        `stdin has ${this.#receivedBytes} bytes; send what follows them`,
      );
    if (this.#hasRoom || piece.bytes.length === 0) this.#accept(piece);
    // A pipe that nothing reads any more breaks at once.
    await afterWriting();
    return { received: this.#receivedBytes, open: !this.#takesNothing };
  }

  #accept({ offset, bytes, isLast }: StdinChunk): void {
    if (this.#takesNothing) return;
    const fresh = bytes.subarray(this.#receivedBytes - offset);
    if (fresh.length > 0) this.#pass(fresh);
    if (isLast) this.#pipe?.end();
    this.#isEnded = isLast;
  }

  #pass(bytes: Buffer): void {
    this.#receivedBytes += bytes.length;
    this.#waitingBytes += bytes.length;
    if (this.#pipe === null) this.#early.push(bytes);
    else this.#write(this.#pipe, bytes);
  }

  #write(pipe: Writable, bytes: Buffer): void {
    pipe.write(bytes, () => {
      this.#waitingBytes -= bytes.length;
      this.#move();
    });
  }

  get #takesNothing(): boolean {
    return this.#isClosed || this.#isEnded;
  }

  get #hasRoom(): boolean {
    return this.#takesNothing || this.#waitingBytes < mostWaitingBytes;
  }

  /** Until something was read, the command is over, or the request is. */
  #moveWithin(waitMs: number, gone: AbortSignal): Promise<void> {
    if (gone.aborted) return Promise.resolve();
    const { promise } = (this.#moved ??= Promise.withResolvers());
    return new Promise((resolve) => {
      const leave = () => {
        clearTimeout(timer);
        gone.removeEventListener('abort', leave);
        resolve();
      };
      const timer = setTimeout(leave, waitMs);
      gone.addEventListener('abort', leave, { once: true });
      void promise.then(leave);
    });
  }

  #move(): void {
    this.#moved?.resolve();
    this.#moved = null;
  }
}
