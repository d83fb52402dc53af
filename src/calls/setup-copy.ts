import { mostSetupBytes } from '../ports/fleet/setup.ts';

/** A byte of an upload is held up to five times at once: in its chunk, whole, as base64, in what is kept, and in what Redis is sent. */
const timesHeld = 5;

/** The memory of a gateway for uploads of set-up that pass through it and are kept. Without room one is not kept; it is uploaded all the same. */
export class SetupRoom {
  #freeBytes: number;

  constructor(bytes: number) {
    this.#freeBytes = bytes;
  }

  take(bytes: number): boolean {
    if (timesHeld * bytes > this.#freeBytes) return false;
    this.#freeBytes -= timesHeld * bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#freeBytes += timesHeld * bytes;
  }
}

/** A copy of an upload, made while its bytes pass. */
export class SetupCopy {
  readonly #room: SetupRoom;
  #chunks: Uint8Array[] = [];
  #heldBytes = 0;
  #isKept = true;
  /** All that have passed. */
  bytes = 0;

  constructor(room: SetupRoom) {
    this.#room = room;
  }

  async *of(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const chunk of body) {
      this.#keep(chunk);
      yield chunk;
    }
  }

  #keep(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (!this.#isKept) return;
    if (this.bytes > mostSetupBytes || !this.#room.take(chunk.length)) return this.letGo();
    this.#heldBytes += chunk.length;
    this.#chunks.push(chunk);
  }

  /** Null: it was too large, or there was no room for it. */
  whole(): Buffer | null {
    return this.#isKept ? Buffer.concat(this.#chunks) : null;
  }

  letGo(): void {
    this.#room.giveBack(this.#heldBytes);
    this.#heldBytes = 0;
    this.#chunks = [];
    this.#isKept = false;
  }
}
