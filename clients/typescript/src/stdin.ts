import { CorralError } from './errors.ts';
import { firstPauseS, sleep } from './exchange.ts';
import { readStdin } from './results.ts';
import { routes } from './routes.ts';
import type { Sending } from './sending.ts';

/** Of one request for stdin; the fleet takes up to four times as much. */
const pieceBytes = 256 * 1024;

/** The stdin of a followed command: bytes are given at their offset, so that a piece that is sent again is not given twice. */
export class Stdin {
  readonly #sending: Sending;
  readonly #unwritten = new Unwritten();
  #written = 0;
  #isToEnd = false;
  #isClosed = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(sending: Sending) {
    this.#sending = sending;
  }

  /** False if the command did not take them all. */
  async write(bytes: Uint8Array): Promise<boolean> {
    if (this.#isClosed) return false;
    this.#unwritten.add(bytes);
    const end = this.#written + this.#unwritten.size;
    await this.#flush();
    return this.#written >= end;
  }

  async end(): Promise<void> {
    this.#isToEnd = true;
    await this.#flush();
  }

  /** After the writes before it: until all is given that was to be written by then. */
  #flush(): Promise<void> {
    const flushing = this.#writing.then(() => this.#giveUnwritten());
    this.#writing = flushing.catch(() => undefined);
    return flushing;
  }

  async #giveUnwritten(): Promise<void> {
    while (!this.#isClosed && (this.#unwritten.size > 0 || this.#isToEnd)) {
      const piece = this.#unwritten.first(pieceBytes);
      const isLast = this.#isToEnd && piece.length === this.#unwritten.size;
      const { received, open } = await this.#give(piece, isLast);
      const taken = Math.max(0, Math.min(received - this.#written, piece.length));
      this.#written += taken;
      this.#unwritten.drop(taken);
      this.#isClosed = !open;
      if (open && taken === 0) await sleep(firstPauseS * 1000);
    }
    if (this.#isClosed) this.#unwritten.drop(this.#unwritten.size);
  }

  async #give(body: Uint8Array<ArrayBuffer>, isLast: boolean): Promise<{ received: number; open: boolean }> {
    const { session, callId, signal } = this.#sending;
    const query = { offset: String(this.#written), ...(isLast ? { end: 'true' } : {}) };
    const rest = { query, body, ...(signal === undefined ? {} : { signal }) };
    const asked = session.asked(routes.stdin, { call_id: callId }, rest);
    for (;;) {
      await this.#sending.start();
      try {
        const reply = await session.heard(asked);
        if (reply.status !== 202) return session.read(readStdin, reply);
        // The time of the request was over, and the piece may have been given or not.
        await sleep(firstPauseS * 1000, signal);
      } catch (error) {
        if (!(error instanceof CorralError)) throw this.#sending.leave(error);
        await this.#sending.startAgain(error).catch((again: unknown) => {
          throw this.#sending.leave(again);
        });
      }
    }
  }
}

/** Copies of what was written, joined only as far as one request takes them: thousands of writes at once cost what they hold. */
class Unwritten {
  readonly #pieces: Uint8Array[] = [];
  size = 0;

  add(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#pieces.push(bytes.slice());
    this.size += bytes.length;
  }

  first(mostBytes: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(Math.min(mostBytes, this.size));
    let at = 0;
    for (const piece of this.#pieces) {
      if (at === bytes.length) break;
      const fits = piece.subarray(0, bytes.length - at);
      bytes.set(fits, at);
      at += fits.length;
    }
    return bytes;
  }

  drop(bytes: number): void {
    this.size -= bytes;
    let left = bytes;
    while (left > 0) {
      const [piece] = this.#pieces;
      if (piece === undefined) return;
      if (piece.length > left) this.#pieces[0] = piece.subarray(left);
      else this.#pieces.shift();
      left -= piece.length;
    }
  }
}
