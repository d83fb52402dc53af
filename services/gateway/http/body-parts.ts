import { tooLarge } from './read-body.ts';

/*
 * A JSON body taken apart while it comes: what the model wrote (the value of one member of the outermost object) goes
 * aside as text, and the rest, in which `{}` stands for it, is the caller's. So each is bounded by itself: arguments without
 * end must not hide whose they are. One pass over the bytes, which also counts what parsing the rest will cost.
 */

/** A member of the outermost object whose value the model wrote, and how much of it is kept. */
export type WrittenMember = { readonly name: string; readonly maxBytes: number };

export type Aside = Buffer | { readonly tooLongBytes: number };

const byteOf = (character: string): number => character.charCodeAt(0);
const quote = byteOf('"');
const backslash = byteOf('\\');
const colon = byteOf(':');
const comma = byteOf(',');
const openBrace = byteOf('{');
const closeBrace = byteOf('}');
const openBracket = byteOf('[');
const closeBracket = byteOf(']');

/** The bytes between texts that say where something begins or ends; all others are numbers, words and blanks. */
const speaks = new Uint8Array(256);
for (const character of '{}[]:,"') speaks[byteOf(character)] = 1;

/**
 * Bytes of heap that a value may take once parsed, charged to the characters that announce it; the dearest shapes measured
 * (V8 of Node 24): an empty list in a list 58, a text 32, an object with one numbered member 345.
 */
const heapBytes = new Uint16Array(256);
heapBytes[openBrace] = 64;
heapBytes[openBracket] = 64;
heapBytes[colon] = 240;
heapBytes[quote] = 32;
heapBytes[comma] = 24;

/** A name of a member, escapes and all, that could be the one we look for. */
const longestName = 128;

const standIn = Buffer.from('{}');

export class BodyParts {
  readonly #member: WrittenMember | null;
  readonly #maxRestBytes: number;
  readonly #onHeld: (bytes: number) => void;
  readonly #rest: Buffer[] = [];
  #restBytes = 0;
  #aside: Buffer[] | null = null;
  #asideBytes = 0;
  #isAside = false;
  #depth = 0;
  #deepest = 0;
  #inText = false;
  #escaped = false;
  /** Bytes of the name being read; null: what is being read is no name of a member of the outermost object. */
  #name: number[] | null = null;
  #expectsName = false;
  #lastName = '';

  /** `onHeld` is told of all memory that the body takes, and may throw to refuse it. */
  constructor(member: WrittenMember | null, maxRestBytes: number, onHeld: (bytes: number) => void) {
    this.#member = member;
    this.#maxRestBytes = maxRestBytes;
    this.#onHeld = onHeld;
  }

  /** Levels of lists and objects in the rest. */
  get deepest(): number {
    return this.#deepest;
  }

  get isEmpty(): boolean {
    return this.#restBytes === 0;
  }

  get rest(): Buffer {
    return Buffer.concat(this.#rest, this.#restBytes);
  }

  /** What the model wrote; null where the body has no such member. */
  get aside(): Aside | null {
    if (this.#aside === null) return null;
    return this.#isTooLong ? { tooLongBytes: this.#asideBytes } : Buffer.concat(this.#aside);
  }

  /** Throws `payload_too_large` for a rest beyond its bound, and what `onHeld` throws. */
  push(chunk: Buffer): void {
    try {
      this.#take(chunk);
    } catch (refused) {
      this.#rest.length = 0;
      this.#aside = null;
      throw refused;
    }
  }

  #take(chunk: Buffer): void {
    let cost = 0;
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#inText) at = this.#passText(chunk, at);
      if (at >= chunk.length) break;
      const byte = chunk[at] ?? 0;
      if (speaks[byte] === 0) continue;
      if (!this.#isAside) cost += heapBytes[byte] ?? 0;
      const wasAside = this.#isAside;
      this.#step(byte);
      if (this.#isAside === wasAside) continue;
      // The colon is the caller's, and so is what ends the value.
      const end = wasAside ? at : at + 1;
      this.#keep(chunk.subarray(from, end), wasAside);
      if (!wasAside) this.#beginAside();
      from = end;
    }
    this.#keep(chunk.subarray(from), this.#isAside);
    if (cost > 0) this.#onHeld(cost);
  }

  #step(byte: number): void {
    switch (byte) {
      case quote:
        this.#inText = true;
        this.#name = this.#expectsName ? [] : null;
        return;
      case openBrace:
      case openBracket:
        return this.#open(byte);
      case closeBrace:
      case closeBracket:
        return this.#close();
      default:
        if (this.#depth === 1) this.#between(byte);
    }
  }

  #open(byte: number): void {
    this.#depth += 1;
    this.#expectsName = this.#depth === 1 && byte === openBrace;
    if (!this.#isAside && this.#depth > this.#deepest) this.#deepest = this.#depth;
  }

  #close(): void {
    this.#depth -= 1;
    this.#expectsName = false;
    if (this.#depth === 0) this.#isAside = false;
  }

  /** Between the members of the outermost object. */
  #between(byte: number): void {
    if (byte === colon && this.#lastName === this.#member?.name) this.#isAside = true;
    if (byte !== comma) return;
    this.#isAside = false;
    this.#expectsName = true;
  }

  /** To the quote that ends the text, or to the chunk's end. Nothing inside of a text means anything to us but a name. */
  #passText(chunk: Buffer, start: number): number {
    let escaped = this.#escaped;
    let at = start;
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (escaped) escaped = false;
      else if (byte === backslash) escaped = true;
      else if (byte === quote) break;
    }
    this.#escaped = escaped;
    if (this.#name !== null && this.#name.length <= longestName) {
      this.#name.push(...chunk.subarray(start, Math.min(at, start + longestName + 1)));
    }
    if (at === chunk.length) return at;
    this.#endText();
    return at + 1;
  }

  #endText(): void {
    this.#inText = false;
    if (this.#name === null) return;
    this.#lastName = nameOf(Buffer.from(this.#name));
    this.#name = null;
    this.#expectsName = false;
  }

  /** Of a member that comes twice the last one counts, as for every JSON parser. */
  #beginAside(): void {
    this.#aside = [];
    this.#asideBytes = 0;
    this.#keep(standIn, false);
  }

  get #isTooLong(): boolean {
    return this.#asideBytes > (this.#member?.maxBytes ?? 0);
  }

  #keep(bytes: Buffer, aside: boolean): void {
    if (bytes.length === 0) return;
    if (!aside) {
      this.#restBytes += bytes.length;
      if (this.#restBytes > this.#maxRestBytes) throw tooLarge(this.#maxRestBytes);
      // A copy: a piece would keep the whole chunk that it was cut from.
      this.#rest.push(Buffer.from(bytes));
      return this.#onHeld(bytes.length);
    }
    this.#asideBytes += bytes.length;
    if (this.#isTooLong) this.#aside = [];
    else {
      this.#aside?.push(bytes);
      this.#onHeld(bytes.length);
    }
  }
}

/** A name as it is meant: `"\u0061"` is `a`. What is no text of JSON is nobody's name; the parser will say so. */
function nameOf(raw: Buffer): string {
  const text = raw.toString('utf8');
  if (!raw.includes(backslash)) return text;
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return '';
  }
}
