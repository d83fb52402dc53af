/**
 * SHA-256 by hand, of one short text: a start of sandboxd needs no other cryptography, and loading Node's own costs a tenth of
 * it in time and memory (`node:crypto` brings keys, certificates and curves along).
 */

/** The standard takes its constants from the square and cube roots of the first primes. */
const primes = [
  2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103,
  107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223,
  227, 229, 233, 239, 241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307, 311,
];
const initial = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const constants = primes.map((prime) => fraction(Math.cbrt(prime)));

const blockBytes = 64;

/** Of its UTF-8, as hex. */
export function sha256Hex(text: string): string {
  const padded = pad(Buffer.from(text, 'utf8'));
  let state = initial;
  for (let at = 0; at < padded.length; at += blockBytes) {
    state = compress(state, scheduleOf(padded.subarray(at, at + blockBytes)));
  }
  return state.map((word) => word.toString(16).padStart(8, '0')).join('');
}

/** A bit, zeros, and the length in bits at the end of a whole number of blocks. */
function pad(bytes: Buffer): Buffer {
  const padded = Buffer.alloc(Math.ceil((bytes.length + 9) / blockBytes) * blockBytes);
  bytes.copy(padded);
  padded[bytes.length] = 0x80;
  padded.writeBigUInt64BE(BigInt(bytes.length) * 8n, padded.length - 8);
  return padded;
}

function scheduleOf(block: Buffer): readonly number[] {
  const words: number[] = [];
  for (let index = 0; index < 16; index += 1) words.push(block.readUInt32BE(4 * index));
  const word = (index: number) => words[index] ?? 0;
  for (let index = 16; index < 64; index += 1) {
    const [early, late] = [word(index - 15), word(index - 2)];
    const small = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
    const large = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10);
    words.push((word(index - 16) + small + word(index - 7) + large) >>> 0);
  }
  return words;
}

function compress(before: readonly number[], schedule: readonly number[]): number[] {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = before;
  for (const [round, word] of schedule.entries()) {
    const large = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const first = h + large + ((e & f) ^ (~e & g)) + (constants[round] ?? 0) + word;
    const second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + first) >>> 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) >>> 0;
  }
  return [a, b, c, d, e, f, g, h].map((word, index) => (word + (before[index] ?? 0)) >>> 0);
}

const rotated = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits));

/** The first 32 bits behind the point: a double has 52, of which the roots of these primes use at most five before it. */
function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32);
}
