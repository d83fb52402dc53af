import type { Writable } from 'node:stream';
import { setImmediate as afterWriting } from 'node:timers/promises';
import type { StdinReply } from '#src/protocol/sandboxd/wire.ts';
import type { StdinRoom } from './stdin-room.ts';
import { WireError } from '../wire-error.ts';

/** What a command has not read yet. A piece is taken as long as less than this waits, so at most this and one piece do. */
const mostWaitingBytes = 1024 * 1024;
/** So much each command has for itself, whatever waits for others. */
const ownBytes = 64 * 1024;

export type StdinChunk = { readonly offset: number; readonly bytes: Buffer; readonly isLast: boolean };

/**
 * The stdin of a command that is given to it in pieces. Each piece says at which offset it begins, and bytes that came before are
 * skipped: a client that does not know whether a piece arrived sends it again. Pieces that come before the command runs wait for it.
 */
export class OpenStdin {
  readonly #room: StdinRoom;
  #pipe: Writable | null = null;
  #receivedBytes = 0;
  #waitingBytes = 0;
  readonly #early: Buffer[] = [];
  #isEnded = false;
  #isClosed = false;
  #moved: PromiseWithResolvers<void> | null = null;

  constructor(room: StdinRoom) {
    this.#room = room;
  }

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
    this.#giveBack(this.#waitingBytes);
    this.#move();
  }

  /** Accepts of the piece what the buffer has room for within `waitMs`. Throws `invalid_request` if `offset` skips bytes. */
  async take(piece: StdinChunk, waitMs: number, gone: AbortSignal): Promise<StdinReply> {
    if (!this.#hasRoom) await this.#moveWithin(waitMs, gone);
    if (piece.offset > this.#receivedBytes)
      throw new WireError(
        'invalid_request',
        `stdin has ${this.#receivedBytes} bytes; send what follows them`,
      );
    this.#accept(piece);
    // A pipe that nothing reads any more breaks at once.
    await afterWriting();
    return { received: this.#receivedBytes, open: !this.#takesNothing };
  }

  #accept({ offset, bytes, isLast }: StdinChunk): void {
    if (this.#takesNothing) return;
    const fresh = bytes.subarray(this.#receivedBytes - offset);
    const fitting = fresh.subarray(0, this.#roomBytes);
    if (fitting.length > 0) this.#pass(fitting);
    if (!isLast || fitting.length < fresh.length) return;
    this.#pipe?.end();
    this.#isEnded = true;
  }

  #pass(bytes: Buffer): void {
    this.#receivedBytes += bytes.length;
    this.#waitingBytes += bytes.length;
    this.#room.take(bytes.length);
    if (this.#pipe === null) this.#early.push(bytes);
    else this.#write(this.#pipe, bytes);
  }

  #write(pipe: Writable, bytes: Buffer): void {
    pipe.write(bytes, () => {
      // After the end all was given back.
      if (this.#isClosed) return;
      this.#giveBack(bytes.length);
      this.#move();
    });
  }

  #giveBack(bytes: number): void {
    this.#waitingBytes -= bytes;
    this.#room.giveBack(bytes);
  }

  get #takesNothing(): boolean {
    return this.#isClosed || this.#isEnded;
  }

  get #hasRoom(): boolean {
    return this.#takesNothing || this.#roomBytes > 0;
  }

  get #roomBytes(): number {
    if (this.#waitingBytes >= mostWaitingBytes) return 0;
    return Math.max(this.#room.freeBytes, ownBytes - this.#waitingBytes, 0);
  }

  /** Until something was read, the command is over, or the request is. */
  #moveWithin(waitMs: number, gone: AbortSignal): Promise<void> {
    if (gone.aborted) return Promise.resolve();
    const { promise } = (this.#moved ??= Promise.withResolvers());
    return new Promise((resolve) => {
      const leave = () => {
        clearTimeout(timer);
        unwatch();
        gone.removeEventListener('abort', leave);
        resolve();
      };
      const timer = setTimeout(leave, waitMs);
      const unwatch = this.#room.watch(() => this.#hasRoom && leave());
      gone.addEventListener('abort', leave, { once: true });
      void promise.then(leave);
    });
  }

  #move(): void {
    this.#moved?.resolve();
    this.#moved = null;
  }
}
