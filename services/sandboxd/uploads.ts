import type { FilePlace, FileReply } from '#src/protocol/sandboxd/wire.ts';
import { WireError } from './wire-error.ts';

type Upload = {
  readonly place: string;
  /** Null where it broke off: nothing was written, or not all of it. */
  readonly ended: Promise<FileReply | null>;
};

/**
 * Uploads by their callers' ids, so that each is written once: a repeat, whose first answer was lost, must not put back what a
 * later call has changed. One that broke off may be sent again.
 */
export class Uploads {
  readonly #known = new Map<string, Upload>();
  readonly #most: number;

  /** `most`: as many are remembered; beyond, the oldest are forgotten, and nobody repeats those any more. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Throws `call_conflict` for a known id that went elsewhere, and what `write` throws. */
  async once(id: string | null, to: FilePlace, write: () => Promise<FileReply>): Promise<FileReply> {
    if (id === null) return write();
    const place = JSON.stringify([to.form, to.user, to.path]);
    for (let known = this.#known.get(id); known !== undefined; known = this.#known.get(id)) {
      if (known.place !== place)
        throw new WireError('call_conflict', `the upload ${id} was received for another path`);
      const reply = await known.ended;
      if (reply !== null) return reply;
    }
    return this.#begin(id, place, write());
  }

  #begin(id: string, place: string, writing: Promise<FileReply>): Promise<FileReply> {
    const ended = writing.catch(() => {
      this.#known.delete(id);
      return null;
    });
    this.#known.set(id, { place, ended });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= this.#most) break;
      this.#known.delete(oldest);
    }
    return writing;
  }
}
