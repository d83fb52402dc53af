import { closeSync, fstatSync, readFileSync, statSync } from 'node:fs';
import { basename, matchesGlob } from 'node:path';
import { openRegular } from '../one-file.ts';
import { type ToolArguments, ToolError } from './tool-arguments.ts';
import { walk } from './walk.ts';

const mostMatches = 200;
/** A longer line is generated code or data; what stands around the match is lost on the reader. */
const longestLine = 300;
/** Files above are data; reading them would cost the sandbox its memory. */
const largestFileBytes = 8 * 1024 * 1024;
/** Where a NUL byte is looked for, as grep and git do. */
const binaryProbeBytes = 8192;
const deepest = 64;

/** What was not searched, by why. */
type LeftOut = Readonly<Record<'larger than 8 MiB' | 'not readable', string[]>>;

/**
 * `{query, path?, glob?, regex?}`: lines that contain the query, as `path:line: text`. Binary files are passed over. Other files that
 * were not searched are named at the end, because a missing match could be in them.
 */
export function* search(values: ToolArguments): Iterable<string> {
  const isMatch = matcher(values.text('query'), values.flag('regex'));
  const glob = values.optionalText('glob');
  const leftOut: LeftOut = { 'larger than 8 MiB': [], 'not readable': [] };
  let matches = 0;
  for (const path of files(values.optionalText('path') ?? '.', glob)) {
    for (const line of matchingLines(path, isMatch, leftOut)) {
      if (matches === mostMatches) return yield `[only the first ${mostMatches} matches are shown]\n`;
      yield line;
      matches += 1;
    }
  }
  if (matches === 0) yield 'no matches\n';
  yield* notSearched(leftOut);
}

const mostNamed = 5;

function* notSearched(leftOut: LeftOut): Iterable<string> {
  for (const [why, paths] of Object.entries(leftOut)) {
    if (paths.length === 0) continue;
    const more = paths.length - mostNamed;
    const named = paths.slice(0, mostNamed).join(', ');
    yield `[not searched, ${why}: ${named}${more > 0 ? ` and ${more} more` : ''}]\n`;
  }
}

function matcher(query: string, isRegex: boolean): (line: string) => boolean {
  if (query === '') throw new ToolError('query is empty');
  if (!isRegex) return (line) => line.includes(query);
  try {
    const pattern = new RegExp(query, 'u');
    return (line) => pattern.test(line);
  } catch (error) {
    throw new ToolError(`query is not a regular expression: ${error instanceof Error ? error.message : ''}`);
  }
}

function* files(root: string, glob: string | undefined): Iterable<string> {
  if (!statSync(root).isDirectory()) return yield root;
  for (const { path, isFile } of walk(root, deepest, isPassedOver)) {
    if (isFile && (glob === undefined || isGlobMatch(path, glob))) yield path;
  }
}

/** What the kernel makes up is no content of a sandbox. */
const ofKernel: ReadonlySet<string> = new Set(['/proc', '/sys']);
export const isPassedOver = (path: string): boolean => basename(path) === '.git' || ofKernel.has(path);

/** `*.ts` means such files anywhere, as everybody expects; a glob with a slash is matched against the whole path. */
function isGlobMatch(path: string, glob: string): boolean {
  return matchesGlob(path, glob.includes('/') ? glob : `**/${glob}`);
}

function* matchingLines(
  path: string,
  isMatch: (line: string) => boolean,
  leftOut: LeftOut,
): Iterable<string> {
  const text = readText(path, leftOut);
  if (text === null) return;
  for (const [index, line] of text.split('\n').entries()) {
    if (isMatch(line)) yield `${path}:${index + 1}: ${line.trimEnd().slice(0, longestLine)}\n`;
  }
}

/** `null` for what is binary, too large or unreadable: the search goes on without it. */
function readText(path: string, leftOut: LeftOut): string | null {
  try {
    const fd = openRegular(path);
    try {
      if (fstatSync(fd).size > largestFileBytes) {
        leftOut['larger than 8 MiB'].push(path);
        return null;
      }
      const bytes = readFileSync(fd);
      return bytes.subarray(0, binaryProbeBytes).includes(0) ? null : bytes.toString('utf8');
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    leftOut['not readable'].push(path);
    return null;
  }
}
