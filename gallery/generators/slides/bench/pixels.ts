import { inflateSync } from 'node:zlib';

/* Pictures as numbers: PNG of eight bits without interlacing, which is what Chromium writes. */

export type Picture = {
  readonly width: number;
  readonly height: number;
  /** Bytes of a pixel: red, green, blue, and perhaps alpha. */
  readonly bytes: number;
  readonly pixels: Uint8Array;
};

export function readPng(file: Buffer): Picture {
  const parts: Buffer[] = [];
  for (let at = 8; at < file.length; at += file.readUInt32BE(at) + 12) {
    if (file.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(file.subarray(at + 8, at + 8 + file.readUInt32BE(at)));
  }
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  const bytes = file[25] === 6 ? 4 : 3;
  return { width, height, bytes, pixels: unfilter(inflateSync(Buffer.concat(parts)), width * bytes, bytes) };
}

/** Each row begins with the number of its filter: what was subtracted from each byte. */
function unfilter(data: Uint8Array, stride: number, bytes: number): Uint8Array {
  const rows = data.length / (stride + 1);
  const out = new Uint8Array(rows * stride);
  for (let row = 0; row < rows; row += 1) {
    const from = row * (stride + 1) + 1;
    const at = row * stride;
    const filter = data[from - 1];
    if (filter === 0) out.set(data.subarray(from, from + stride), at);
    else if (filter === 2) addUp(out, at, data.subarray(from, from + stride));
    else addPredicted(out, at, data.subarray(from, from + stride), { filter, stride, bytes });
  }
  return out;
}

/** Most rows, and so without the other neighbors. */
function addUp(out: Uint8Array, at: number, line: Uint8Array): void {
  for (let column = 0; column < line.length; column += 1)
    out[at + column] = (line[column] ?? 0) + (out[at + column - line.length] ?? 0);
}

type Filtered = { readonly filter: number | undefined; readonly stride: number; readonly bytes: number };

function addPredicted(
  out: Uint8Array,
  at: number,
  line: Uint8Array,
  { filter, stride, bytes }: Filtered,
): void {
  for (let column = 0; column < stride; column += 1) {
    const isFirst = column < bytes;
    const left = isFirst ? 0 : (out[at + column - bytes] ?? 0);
    const up = out[at + column - stride] ?? 0;
    const corner = isFirst ? 0 : (out[at + column - stride - bytes] ?? 0);
    out[at + column] = (line[column] ?? 0) + predicted(filter, left, up, corner);
  }
}

function predicted(filter: number | undefined, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const [byLeft, byUp, byCorner] = [
    Math.abs(up - corner),
    Math.abs(left - corner),
    Math.abs(left + up - 2 * corner),
  ];
  return byLeft <= byUp && byLeft <= byCorner ? left : byUp <= byCorner ? up : corner;
}

const linear = Float64Array.from({ length: 256 }, (_, value) =>
  value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
);

/** Relative luminance as WCAG defines it, 0 to 1. */
export function luminanceAt({ width, bytes, pixels }: Picture, x: number, y: number): number {
  const at = (y * width + x) * bytes;
  const part = (offset: number) => linear[pixels[at + offset] ?? 0] ?? 0;
  return 0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2);
}

export const contrastOf = (one: number, other: number): number =>
  (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
