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
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { longestScoreBytes } from '../../../src/protocol/sandboxd/wire.ts';
import { reportErrno } from './report-errno.ts';

const ownOnly = 0o700;
const folders = ['files', 'bin', 'home', 'tmp'];

type Given = {
  readonly files: Readonly<Record<string, string>>;
  readonly programs: Readonly<Record<string, string>>;
};

/** Makes what a grader finds in its folder, from `{files, programs}` on stdin. Returns the exit code. */
export async function placeGrader(folder: string): Promise<0 | 1> {
  try {
    const { files, programs } = JSON.parse(await text(process.stdin)) as Given;
    for (const name of folders) mkdirSync(join(folder, name), { mode: ownOnly });
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, 'files', name), content);
    for (const [name, content] of Object.entries(programs))
      writeFileSync(join(folder, 'bin', name), content, { mode: ownOnly });
    process.stdout.write('{}');
    return 0;
  } catch (error) {
    return reportErrno(error);
  }
}

/** Says `{score}`, the text of the score file or null, and removes what the grader has made. Returns the exit code. */
export function collectScore(folder: string): 0 | 1 {
  try {
    process.stdout.write(JSON.stringify({ score: readScore(join(folder, 'files', 'score')) }));
    empty(folder);
    return 0;
  } catch (error) {
    return reportErrno(error);
  }
}

/** What cannot be removed takes room on the grader's own disk, and no score away. */
function empty(folder: string): void {
  for (const name of readdirSync(folder)) {
    try {
      rmSync(join(folder, name), { recursive: true, force: true });
    } catch {
      // It stays until the sandbox goes.
    }
  }
}

/** One byte more than a score may have, so that who reads it sees that it is none. Only a file of the grader's own counts. */
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
