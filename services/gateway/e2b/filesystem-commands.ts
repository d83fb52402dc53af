import type { EntryInfo } from '#src/protocol/e2b/data.ts';
import type { CallResult } from '../core-interface.ts';
import type { Word } from './connect-wire.ts';
import { withoutEnd } from './paths.ts';

/*
 * What runs in a sandbox for E2B's file system, in the words that every image's shell and coreutils or busybox know. Names are
 * the policy's and may hold anything but NUL, so NUL is what stands between them, and a name alone is never read as anything else:
 * a path that a client writes to on its own machine is put together here, of a folder that it asked for and a name without `/`.
 */

/** Prints a path, what `stat` says, and where a link leads. A file that has gone meanwhile is left out. */
const tell = `tell() {
  for path do
    meta=$(stat $follow -c '%f %s %Y %U %G' -- "$path" 2>/dev/null) || continue
    link=; [ -L "$path" ] && link=$(readlink -- "$path")
    printf '%s\\0%s\\0%s\\0' "$path" "$meta" "$link"
  done
}`;

/** One path; a link is told as what it leads to. */
export const telling = `${tell}
[ -e "$1" ] || [ -L "$1" ] || exit 44
[ -e "$1" ] && follow=-L
tell "$1"`;

/** What is in a folder, so many levels deep. Links are told as links, so that nobody walks in circles. */
export const listing = `[ -e "$1" ] || exit 44
cd -- "$1" || exit 45
exec find . -mindepth 1 -maxdepth "$2" -exec /bin/sh -c '${tell.replaceAll("'", `'\\''`)}
tell "$@"' sh {} +`;

export const making = `${tell}
[ -d "$1" ] && exit 47
mkdir -p -- "$1" || exit 45
tell "$1"`;

export const moving = `${tell}
[ -e "$1" ] || [ -L "$1" ] || exit 44
mkdir -p -- "\${2%/*}" && mv -T -- "$1" "$2" || exit 45
tell "$2"`;

export const removing = 'rm -rf -- "$1" || exit 45';

const wordsOfExits: Readonly<Record<number, Word>> = {
  44: 'not_found',
  45: 'invalid_argument',
  47: 'already_exists',
};

/** Null: it has said what was asked for. */
export function wordOf({ outcome, exitCode, truncated }: CallResult): Word | null {
  if (outcome === 'timed_out') return 'deadline_exceeded';
  if (outcome !== 'completed' || exitCode === null) return 'failed_precondition';
  // Half a list would look like the whole.
  if (truncated.stdout) return 'failed_precondition';
  return exitCode === 0 ? null : (wordsOfExits[exitCode] ?? 'failed_precondition');
}

const fields = 3;

/** What a command has told. `folder`: where it listed, which stands before each path; null: paths are told as they were asked for. */
export function entriesIn(text: string, folder: string | null): EntryInfo[] {
  const parts = text.split('\0');
  const entries: EntryInfo[] = [];
  // The last NUL ends the last entry, so one part more than those of all entries is there.
  for (let at = 0; at + fields < parts.length; at += fields) {
    const [path = '', meta = '', link = ''] = parts.slice(at, at + fields);
    const entry = entryOf(path, meta, link, folder);
    if (entry !== null) entries.push(entry);
  }
  return entries;
}

function entryOf(path: string, meta: string, link: string, folder: string | null): EntryInfo | null {
  const [hexMode = '', size = '', seconds = '', owner = '', group = '', ...rest] = meta.split(' ');
  const isMeta = /^[0-9a-f]{1,8}$/.test(hexMode) && /^\d{1,20}$/.test(size) && /^-?\d{1,12}$/.test(seconds);
  if (!isMeta || group === '' || rest.length > 0) return null;
  const mode = Number.parseInt(hexMode, 16);
  return {
    name: path.split('/').at(-1) ?? '',
    type: typeOf(mode),
    path: folder === null ? path : `${withoutEnd(folder)}/${path.replace(/^\.\//, '')}`,
    size,
    mode: mode & 0o777,
    permissions: permissionsOf(mode),
    owner,
    group,
    modifiedTime: new Date(Number(seconds) * 1_000).toISOString(),
    ...(link === '' ? {} : { symlinkTarget: link }),
  };
}

function typeOf(mode: number): EntryInfo['type'] {
  switch (mode & 0o170000) {
    case 0o100000:
      return 'FILE_TYPE_FILE';
    case 0o040000:
      return 'FILE_TYPE_DIRECTORY';
    case 0o120000:
      return 'FILE_TYPE_SYMLINK';
    default:
      return 'FILE_TYPE_UNSPECIFIED';
  }
}

function permissionsOf(mode: number): string {
  const bits = ['r', 'w', 'x', 'r', 'w', 'x', 'r', 'w', 'x'];
  return bits.map((letter, at) => (mode & (0o400 >> at) ? letter : '-')).join('');
}
