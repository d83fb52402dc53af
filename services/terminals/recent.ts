/** Several screens with their colors. It is kept outside of the memory in which screens are. */
const mostBytes = 64 * 1024;

/** The latest of what a program has printed, for a reader that comes later. It takes memory from the first byte on. */
export class Recent {
  #ring: Buffer | null = null;
  #written = 0;

  add(printed: Buffer): void {
    if (printed.length === 0) return;
    const ring = (this.#ring ??= Buffer.alloc(mostBytes));
    const latest = printed.subarray(-mostBytes);
    const copied = latest.copy(ring, this.#written % mostBytes);
    latest.copy(ring, 0, copied);
    this.#written += latest.length;
  }

  /** A copy. */
  read(): Buffer {
    const ring = this.#ring;
    if (ring === null) return Buffer.alloc(0);
    if (this.#written <= mostBytes) return Buffer.from(ring.subarray(0, this.#written));
    const begin = this.#written % mostBytes;
    return Buffer.concat([ring.subarray(begin), ring.subarray(0, begin)]);
  }
}
