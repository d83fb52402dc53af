import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Content, longestScoreBytes } from '#src/protocol/sandboxd/wire.ts';
import { reportErrno } from './print.ts';

const ownOnly = 0o700;
const folders = ['files', 'bin', 'home', 'tmp'];

type Given = {
  /** Folders of the turns before. */
  readonly earlier: readonly string[];
  readonly files: Readonly<Record<string, Content>>;
  readonly programs: Readonly<Record<string, string>>;
  /** By path, what nobody else may ever read. */
  readonly told: Readonly<Record<string, string>>;
};

const ownFile = 0o600;

/** Makes what a grader finds in its folder, as said on stdin, and removes what earlier ones left. Returns the exit code. */
export async function placeGrader(folder: string): Promise<0 | 1> {
  try {
    const { earlier, files, programs, told } = JSON.parse(await text(process.stdin)) as Given;
    for (const other of earlier) empty(other);
    for (const name of folders) mkdirSync(join(folder, name), { mode: ownOnly });
    for (const [name, content] of Object.entries(files)) place(join(folder, 'files', name), content);
    for (const [name, content] of Object.entries(programs))
      writeFileSync(join(folder, 'bin', name), content, { mode: ownOnly });
    for (const [path, content] of Object.entries(told))
      writeFileSync(path, content, { mode: ownFile, flag: 'wx' });
    process.stdout.write('{}');
    return 0;
  } catch (error) {
    return reportErrno(error);
  }
}

function place(path: string, content: Content): void {
  mkdirSync(dirname(path), { recursive: true, mode: ownOnly });
  writeFileSync(path, typeof content === 'string' ? content : Buffer.from(content.base64, 'base64'));
}

/** What an earlier turn has left. What cannot be removed only takes room. */
function empty(folder: string): void {
  for (const name of orNone(() => readdirSync(folder))) remove(join(folder, name));
}

function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // It stays until the sandbox goes.
  }
}

function orNone<Item>(look: () => readonly Item[]): readonly Item[] {
  try {
    return look();
  } catch {
    return [];
  }
}

/** Removes what was told, and says `{score}`, the text of the score file or null. Returns the exit code. */
export function reportScore(path: string, told: readonly string[]): 0 | 1 {
  try {
    for (const file of told) remove(file);
    process.stdout.write(JSON.stringify({ score: readScore(path) }));
    return 0;
  } catch (error) {
    return reportErrno(error);
  }
}

/** One byte more than a score may have, so that who reads it sees that it is none. A link leads nowhere. */
function readScore(path: string): string | null {
  const fd = openOrNull(path);
  if (fd === null) return null;
  try {
    if (!fstatSync(fd).isFile()) return null;
    const bytes = Buffer.alloc(longestScoreBytes + 1);
    return bytes.toString('utf8', 0, readSync(fd, bytes));
  } finally {
    closeSync(fd);
  }
}

function openOrNull(path: string): number | null {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch {
    return null;
  }
}
