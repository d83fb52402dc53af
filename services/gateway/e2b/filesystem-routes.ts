import { posix } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ListDirRequest, MoveRequest, PathRequest } from '#src/protocol/e2b/data.ts';
import { described, Empty, Entries, type EntryInfo, OneEntry } from '#src/protocol/e2b/described.ts';
import type { CallResult } from '../core-interface.ts';
import type { App } from '../http/app.ts';
import { takeCall } from '../http/taking.ts';
import { answerWord, type Word } from './connect-wire.ts';
import { addressedBy, checkUser } from './identify.ts';
import { asArgument, inSandbox, withoutEnd } from './paths.ts';
import type { E2bParts } from './parts.ts';

/**
 * Folders and what is in them. Each request is a small command in the sandbox, run as its user like every other, so what it may
 * not touch is refused by the kernel, and a sandbox that was lost is told as for any command.
 */
export function filesystemRoutes(app: App, parts: E2bParts): void {
  const service = '/filesystem.Filesystem';

  const stat = { ...described('e2bStat', 'One file or folder', { 200: OneEntry }), body: PathRequest };
  app.post(`${service}/Stat`, { schema: stat }, (request, reply) =>
    tellOne(parts, request, reply, [telling, asArgument(request.body.path)], request.body.path),
  );

  const makeDir = { ...described('e2bMakeDir', 'Make a folder', { 200: OneEntry }), body: PathRequest };
  app.post(`${service}/MakeDir`, { schema: makeDir }, (request, reply) =>
    tellOne(parts, request, reply, [making, asArgument(request.body.path)], request.body.path),
  );

  const move = { ...described('e2bMove', 'Move a file or folder', { 200: OneEntry }), body: MoveRequest };
  app.post(`${service}/Move`, { schema: move }, (request, reply) => {
    const { source, destination } = request.body;
    return tellOne(parts, request, reply, [moving, asArgument(source), asArgument(destination)], destination);
  });

  const remove = { ...described('e2bRemove', 'Remove a file or folder', { 200: Empty }), body: PathRequest };
  app.post(`${service}/Remove`, { schema: remove }, async (request, reply) => {
    const { path } = request.body;
    const told = await runCommand(parts, request, [removing, asArgument(path)], path);
    return told.kind === 'word' ? answerWord(reply, told.word, told.message) : {};
  });

  const listDir = {
    ...described('e2bListDir', 'What is in a folder', { 200: Entries }),
    body: ListDirRequest,
  };
  app.post(`${service}/ListDir`, { schema: listDir }, async (request, reply) => {
    const { path, depth = 0 } = request.body;
    const told = await runCommand(
      parts,
      request,
      [listing, asArgument(path), String(Math.max(1, depth))],
      path,
    );
    if (told.kind === 'word') return answerWord(reply, told.word, told.message);
    return { entries: entriesIn(told.text, absolute(path, told.folder)) };
  });
}

async function tellOne(
  parts: E2bParts,
  request: FastifyRequest,
  reply: FastifyReply,
  command: readonly string[],
  path: string,
): Promise<FastifyReply | { readonly entry: EntryInfo }> {
  const told = await runCommand(parts, request, command, path);
  if (told.kind === 'word') return answerWord(reply, told.word, told.message);
  const [entry] = entriesIn(told.text, null);
  if (entry === undefined) return answerWord(reply, 'not_found', `path '${path}' does not exist`);
  return { entry: { ...entry, path: absolute(path, told.folder) } };
}

/**
 * Of a path that a client asked for. `folder`, where commands start, is the sandbox's word: it stands before relative paths alone,
 * and only if it is a folder's plain name.
 */
export function absolute(path: string, folder: string): string {
  const isPlain = folder.startsWith('/') && posix.normalize(folder) === folder;
  return withoutEnd(posix.resolve(isPlain ? folder : '/', inSandbox(path))) || '/';
}

type Told =
  | { readonly kind: 'text'; readonly folder: string; readonly text: string }
  | { readonly kind: 'word'; readonly word: Word; readonly message: string };

/** A client waits a minute; a folder that takes so long to walk is the sandbox's own. */
const commandMs = 30_000;
const requestMs = 55_000;
/** Some two thousand names: what an answer of fleet state holds. */
const listBytes = 256 * 1024;

async function runCommand(
  { core, random }: E2bParts,
  request: FastifyRequest,
  command: readonly string[],
  path: string,
): Promise<Told> {
  const { caller, ref: rollout } = addressedBy(request);
  checkUser(request);
  const call = takeCall(request, `e2b-files-${random.text(12)}`);
  const [script = '', ...args] = command;
  const argv = ['/bin/sh', '-c', `${tellFolder}\n${script}`, 'sh', ...args];
  const times = { timeoutMs: commandMs, waitMs: requestMs };
  const result = await core.exec(caller, { rollout, call, argv, maxOutputBytes: listBytes, ...times });
  const word = wordOf(result);
  if (word === null) return toldIn(result.stdout);
  return { kind: 'word', word, message: messageOf(word, path, result.stderr || result.output) };
}

function toldIn(stdout: string): Told {
  const end = stdout.indexOf('\0');
  return { kind: 'text', folder: stdout.slice(0, Math.max(0, end)), text: stdout.slice(end + 1) };
}

const saidLength = 300;

function messageOf(word: Word, path: string, said: string): string {
  if (word === 'not_found') return `path '${path}' does not exist`;
  if (word === 'already_exists') return `path '${path}' already exists`;
  return `${path}: ${said.trim().slice(0, saidLength)}`;
}

/*
 * What runs in a sandbox for E2B's file system, in the words that every image's shell and coreutils or busybox know. Names are
 * the policy's and may hold anything but NUL, so NUL is what stands between them, and a name alone is never read as anything else:
 * a path that a client writes to on its own machine is put together here, of a folder that it asked for and a name without `/`.
 */

const tellFolder = `printf '%s\\0' "$PWD"`;

/** Prints a path, what `stat` says, and where a link leads. A file that has gone meanwhile is left out. */
const tell = `tell() {
  for path do
    meta=$(stat $follow -c '%f %s %Y %U %G' -- "$path" 2>/dev/null) || continue
    link=; [ -L "$path" ] && link=$(readlink -- "$path")
    printf '%s\\0%s\\0%s\\0' "$path" "$meta" "$link"
  done
}`;

/** One path; a link is told as what it leads to. */
const telling = `${tell}
[ -e "$1" ] || [ -L "$1" ] || exit 44
[ -e "$1" ] && follow=-L
tell "$1"`;

/** What is in a folder, so many levels deep. Links are told as links, so that nobody walks in circles. */
const listing = `[ -e "$1" ] || exit 44
cd -- "$1" || exit 45
exec find . -mindepth 1 -maxdepth "$2" -exec /bin/sh -c '${tell.replaceAll("'", `'\\''`)}
tell "$@"' sh {} +`;

const making = `${tell}
[ -d "$1" ] && exit 47
mkdir -p -- "$1" || exit 45
tell "$1"`;

const moving = `${tell}
[ -e "$1" ] || [ -L "$1" ] || exit 44
mkdir -p -- "\${2%/*}" && mv -T -- "$1" "$2" || exit 45
tell "$2"`;

const removing = 'rm -rf -- "$1" || exit 45';

const wordsOfExits: Readonly<Record<number, Word>> = {
  44: 'not_found',
  45: 'invalid_argument',
  47: 'already_exists',
};

/** Null: it has said what was asked for. */
function wordOf({ outcome, exitCode, truncated }: CallResult): Word | null {
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
  return entries.toSorted((one, other) => (one.path < other.path ? -1 : 1));
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
