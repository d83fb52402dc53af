import { createReadStream, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { writeOut } from './print.ts';
import { openRegular } from './one-file.ts';
import { search } from './tools/search.ts';
import { ToolArguments, ToolError } from './tools/tool-arguments.ts';
import { walk } from './tools/walk.ts';

/** A tool yields its text piece by piece, so that a large file is never in memory as a whole. */
type BuiltinTool = (values: ToolArguments) => AsyncIterable<string | Uint8Array> | Iterable<string>;

const tools: Readonly<Record<string, BuiltinTool>> = {
  read_file: readFile,
  write_file: writeFile,
  list_files: listFiles,
  search,
};

/** Runs a built-in tool with the arguments on stdin. What the model did wrong is said to it as `Error: …`. */
export async function runTool(name: string): Promise<0 | 1> {
  try {
    const tool = tools[name];
    if (tool === undefined) throw new ToolError(`there is no tool ${name}`);
    await writeOut(tool(new ToolArguments(JSON.parse(await text(process.stdin)))));
    return 0;
  } catch (error) {
    process.stderr.write(`Error: ${explain(error)}\n`);
    return 1;
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  ENOSPC: 'no space left',
  EROFS: 'it cannot be written',
  EINVAL: 'it is not a regular file',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the name is too long',
};

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!('code' in error)) return error.message;
  const reason = reasons[String(error.code)] ?? error.message;
  return 'path' in error ? `${reason}: ${String(error.path)}` : reason;
}

/** `{path, content}`: replaces or creates a file, and the folders above it. */
function* writeFile(values: ToolArguments): Iterable<string> {
  const path = values.text('path');
  const content = values.text('content');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  yield `wrote ${Buffer.byteLength(content)} bytes to ${path}\n`;
}

/** More would push the rest of the rollout out of a model's context. */
const mostEntries = 1000;
const usualDepth = 1;

/** `{path?, depth?}`: files and folders, one a line; a folder's name ends in a slash. */
function* listFiles(values: ToolArguments): Iterable<string> {
  const folder = values.optionalText('path') ?? '.';
  const depth = values.optionalNumber('depth', 1) ?? usualDepth;
  let listed = 0;
  for (const { path, isFolder } of walk(folder, depth, () => false)) {
    if (listed === mostEntries) {
      yield `[only the first ${mostEntries} entries are shown]\n`;
      return;
    }
    yield `${path}${isFolder ? '/' : ''}\n`;
    listed += 1;
  }
  if (listed === 0) yield '[the folder is empty]\n';
}

const newline = 0x0a;

/** `{path, start_line?, end_line?}`: a file's text, or its lines from first to last, both counted from 1 and included. */
async function* readFile(values: ToolArguments): AsyncIterable<Uint8Array> {
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
