import { createReadStream } from 'node:fs';
import { openRegular } from '../get-file.ts';
import { type ToolArguments, ToolError } from './tool-arguments.ts';

const newline = 0x0a;

/** `{path, start_line?, end_line?}`: a file's text, or its lines from first to last, both counted from 1 and included. */
export async function* readFile(values: ToolArguments): AsyncIterable<Uint8Array> {
  const path = values.text('path');
  const first = values.optionalNumber('start_line', 1) ?? 1;
  const last = values.optionalNumber('end_line', 1) ?? Number.POSITIVE_INFINITY;
  if (last < first) throw new ToolError('end_line is before start_line');
  let line = 1;
  let isNothingRead = true;
  for await (const chunk of createReadStream(path, { fd: openRegular(path) }) as AsyncIterable<Buffer>) {
    const from = offsetOfLine(chunk, line, first);
    const to = offsetOfLine(chunk, line, last + 1);
    if (from < to) {
      yield chunk.subarray(from, to);
      isNothingRead = false;
    }
    line += countNewlines(chunk);
    if (line > last) return;
  }
  if (isNothingRead && first > 1) throw new ToolError(`${path} ends before line ${first}`);
}

/** Where `wanted` begins in a chunk that begins in line `current`; its length when that is further on. */
function offsetOfLine(chunk: Buffer, current: number, wanted: number): number {
  let offset = 0;
  for (let line = current; line < wanted; line += 1) {
    const end = chunk.indexOf(newline, offset);
    if (end < 0) return chunk.length;
    offset = end + 1;
  }
  return offset;
}

function countNewlines(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) count += 1;
  return count;
}
