import { tarComment, tarHeader } from '#src/protocol/sandboxd/tar.ts';
import type { LeftOut } from '#src/protocol/sandboxd/wire.ts';
import { type Entry, ReadError } from './reader.ts';

/** Maximum paths in a report, because a policy can create any number of unreadable files. */
const mostNamed = 40;
/** Of one path in the report, in characters, so that all of them fit into one comment. */
const longestPath = 200;

/** Why an entry is left out, in the words of a report. */
export type Why =
  | 'not readable'
  | 'no file, folder or link'
  | 'name is not UTF-8'
  | 'path is too long'
  | 'changed while it was read';

/** Errors that files have by what the policy left or does, and no other: a disk that fails breaks the archive off. */
const reasons: Readonly<Record<string, Why>> = {
  EACCES: 'not readable',
  EPERM: 'not readable',
  ENODEV: 'no file, folder or link',
  EAGAIN: 'not readable',
  ENAMETOOLONG: 'path is too long',
  ENOENT: 'changed while it was read',
  ENOTDIR: 'changed while it was read',
  EISDIR: 'changed while it was read',
  EINVAL: 'changed while it was read',
  ELOOP: 'changed while it was read',
};

/** Why a path with this error is left out; null for an error that no files of the policy's bring about. */
export function whyOf(error: unknown, path: string): Why | null {
  if (!(error instanceof ReadError)) return null;
  // The reader's answers are text, so a name in other bytes cannot be asked for again.
  if (error.code === 'ENOENT' && path.includes('\u{fffd}')) return 'name is not UTF-8';
  return reasons[error.code] ?? null;
}

/** What an archive lacks, each path once. */
export class LeftOutPaths {
  readonly #named = new Map<string, Why>();
  #more = 0;

  add(path: string, why: Why): void {
    if (this.#named.has(path)) return;
    if (this.#named.size < mostNamed) this.#named.set(path, why);
    else this.#more += 1;
  }

  /**
   * A comment of the archive and its folder itself, in at most so many bytes, with the paths or at least their number; nothing if the archive
   * lacks nothing. Some tar programs, such as Python's, refuse a comment that no entry follows.
   */
  report(folder: Pick<Entry, 'mode' | 'mtimeS'>, mostBytes: number): Uint8Array {
    if (this.#named.size === 0) return Buffer.alloc(0);
    const left_out = [...this.#named].map(([path, why]) => ({
      path: path.slice(0, longestPath).toWellFormed(),
      why,
    }));
    const count = left_out.length + this.#more;
    const { mode, mtimeS } = folder;
    const itself = tarHeader({ path: '.', kind: 'folder', mode, mtimeS, bytes: 0 });
    const reports = [left_out, []].map((named) =>
      Buffer.concat([tarComment(JSON.stringify({ left_out: named, count } satisfies LeftOut)), itself]),
    );
    return reports.find(({ length }) => length <= mostBytes) ?? Buffer.alloc(0);
  }
}
