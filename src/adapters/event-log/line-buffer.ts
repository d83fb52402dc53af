/** Lines that wait for the disk, at most `maxBytes` of them. */
export class LineBuffer {
  readonly #maxBytes: number;
  #lines: string[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get empty(): boolean {
    return this.#lines.length === 0;
  }

  /** Whether there was room for it. */
  add(line: string): boolean {
    const bytes = Buffer.byteLength(line);
    if (this.#bytes + bytes > this.#maxBytes) return false;
    this.#lines.push(line);
    this.#bytes += bytes;
    return true;
  }

  /** Takes everything out as one text. */
  take(): string {
    const text = this.#lines.join('');
    this.#lines = [];
    this.#bytes = 0;
    return text;
  }
}
