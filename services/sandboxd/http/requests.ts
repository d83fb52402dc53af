import {
  type ArtifactsRequest,
  callIdsIn,
  type BindRequest,
  type BuiltinAction,
  type BuiltinName,
  type CallRequest,
  type CommandUser,
  type Compared,
  type Content,
  type ContentsRequest,
  type ExecAction,
  type FilePlace,
  type GradeAction,
  type ListingRequest,
  longestLifeMs,
  longestStreamBytes,
  maxBindLabel,
  maxCallLabel,
  maxCallsOfLife,
  maxChangedFiles,
  maxKeptBytes,
  maxNeededFolders,
  maxOutputBytes,
  type NeededFolder,
  type OutputStream,
  type PrepareRequest,
  type ProbeDepth,
  type QueryAction,
  type SandboxNeeds,
  type StreamOffsets,
  type WireOwner,
} from '#src/protocol/sandboxd/wire.ts';
import { browserTools } from '#src/protocol/sandboxd/browser.ts';
import { terminalTools } from '#src/protocol/sandboxd/terminals.ts';
import { WireError } from '../wire-error.ts';
import * as shape from './shape.ts';

/** Nothing lasts longer than a sandbox may. */
const longestMs = longestLifeMs;
/** The request may be held for as long as any trainer waits, ten minutes. */
const longestWaitMs = 600_000;
const longestIdLength = 256;

const commandUsers = ['policy', 'grader'] as const satisfies readonly CommandUser[];
const probeDepths = ['whole', 'brief'] as const satisfies readonly ProbeDepth[];
const builtins = [
  'read_file',
  'write_file',
  'list_files',
  'search',
  ...terminalTools,
  'terminal_check',
  'terminal_follow',
  ...browserTools,
  'browser_check',
] as const satisfies readonly BuiltinName[];

/** The bodies and queries of `wire.ts`, from JSON to types. Each throws `invalid_request` and names the field. */
export function parseBind(body: unknown): BindRequest {
  const { protocol, owner, expiresInMs, label, programs, needs } = shape.fields(body, 'the body');
  return {
    protocol: shape.whole(protocol, 'protocol', 1, 1_000_000),
    owner: parseOwner(owner),
    expiresInMs: shape.whole(expiresInMs, 'expiresInMs', 1, longestMs),
    ...(label === undefined ? {} : { label: shape.shortText(label, 'label', maxBindLabel) }),
    ...(programs === undefined ? {} : { programs: shape.list(programs, 'programs', shape.text) }),
    ...(needs === undefined ? {} : { needs: parseNeeds(needs) }),
  };
}

function parseNeeds(value: unknown): SandboxNeeds {
  const { folders, user } = shape.fields(value, 'needs');
  const needed = shape.list(folders, 'needs.folders', parseNeededFolder);
  shape.whole(needed.length, 'the number of folders', 0, maxNeededFolders);
  return { folders: needed, ...(user === undefined ? {} : { user: shape.text(user, 'needs.user') }) };
}

function parseNeededFolder(value: unknown, name: string): NeededFolder {
  const { path, access } = shape.fields(value, name);
  return {
    path: shape.text(path, `${name}.path`),
    access: shape.oneOf(access, `${name}.access`, ['enter', 'write', 'make']),
  };
}

function parseOwner(value: unknown): WireOwner {
  const { tenant, run, rollout, attempt, role } = shape.fields(value, 'owner');
  return {
    tenant: shape.text(tenant, 'owner.tenant'),
    run: shape.text(run, 'owner.run'),
    rollout: shape.text(rollout, 'owner.rollout'),
    attempt: shape.whole(attempt, 'owner.attempt', 0, Number.MAX_SAFE_INTEGER),
    role: shape.text(role, 'owner.role'),
  };
}

export function parsePrepare(body: unknown): PrepareRequest {
  const { commands, timeoutMs } = shape.fields(body, 'the body');
  return {
    commands: shape.list(commands, 'commands', shape.argv),
    timeoutMs: shape.whole(timeoutMs, 'timeoutMs', 1, longestMs),
  };
}

export function parseCall(body: unknown): CallRequest {
  const { digest, action, timeoutMs, keepBytes, outputBytes, stream, binary, label, ...start } = shape.fields(
    body,
    'the body',
  );
  const { killAtOnce, startWithinMs, overtimeMs, maxPauseMs, aroundMs } = start;
  return {
    digest: shape.text(digest, 'digest'),
    action: parseAction(action),
    timeoutMs: shape.whole(timeoutMs, 'timeoutMs', 1, longestMs),
    keepBytes: shape.whole(keepBytes, 'keepBytes', 0, maxKeptBytes),
    ...(outputBytes === undefined
      ? {}
      : { outputBytes: shape.whole(outputBytes, 'outputBytes', 0, maxOutputBytes) }),
    ...(stream === true ? { stream } : {}),
    ...(binary === true ? { binary } : {}),
    ...(label === undefined ? {} : { label: shape.shortText(label, 'label', maxCallLabel) }),
    ...(killAtOnce === true ? { killAtOnce } : {}),
    ...(startWithinMs === undefined
      ? {}
      : { startWithinMs: shape.whole(startWithinMs, 'startWithinMs', 0, longestMs) }),
    ...(maxPauseMs === undefined ? {} : { maxPauseMs: shape.whole(maxPauseMs, 'maxPauseMs', 0, longestMs) }),
    ...(aroundMs === undefined ? {} : { aroundMs: shape.whole(aroundMs, 'aroundMs', 1, longestMs) }),
    ...(overtimeMs === undefined ? {} : { overtimeMs: shape.whole(overtimeMs, 'overtimeMs', 1, longestMs) }),
  };
}

/** Null: the one that was opened last. */
export function parseTerminal(query: URLSearchParams): number | null {
  const number = query.get('terminal');
  return number === null ? null : shape.whole(Number(number), 'terminal', 1, 1_000_000_000);
}

/** Ids that cannot be read are of no call here. */
export function parseSettled(header: string | readonly string[] | undefined): readonly string[] {
  return typeof header === 'string' ? callIdsIn(header, maxCallsOfLife) : [];
}

function parseAction(value: unknown): CallRequest['action'] {
  const action = shape.fields(value, 'action');
  switch (shape.oneOf(action['kind'], 'action.kind', ['exec', 'builtin', 'grade', 'query'])) {
    case 'exec':
      return parseExec(action);
    case 'builtin':
      return parseBuiltin(action);
    case 'grade':
      return parseGrade(action);
    case 'query':
      return parseQuery(action);
  }
}

function parseQuery({ database, sql, values, each, none, check }: shape.Fields): QueryAction {
  const bound = Object.entries(shape.fields(values, 'action.values')).map(
    ([name, value]) => [name, bindable(value, `action.values.${name}`)] as const,
  );
  return {
    kind: 'query',
    database: shape.text(database, 'action.database'),
    sql: shape.text(sql, 'action.sql'),
    values: Object.fromEntries(bound),
    ...(each === undefined ? {} : { each: shape.list(each, 'action.each', shape.text) }),
    none: shape.text(none, 'action.none'),
    ...(check === undefined ? {} : { check: check === true }),
  };
}

const bindable = (value: unknown, name: string): string | number | null =>
  value === null || typeof value === 'number' ? value : shape.text(value, name);

function parseGrade({ turn, argv, files, stdin, rollout }: shape.Fields): GradeAction {
  return {
    kind: 'grade',
    turn: shape.whole(turn, 'action.turn', 0, Number.MAX_SAFE_INTEGER),
    argv: shape.argv(argv, 'action.argv'),
    files: parseGraderFiles(files),
    stdin: shape.text(stdin, 'action.stdin'),
    ...(rollout === undefined ? {} : { rollout: shape.text(rollout, 'action.rollout') }),
  };
}

function parseGraderFiles(value: unknown): GradeAction['files'] {
  const files = Object.entries(shape.fields(value, 'action.files')).map(([name, content]) => {
    if (!staysBelow(name)) throw new WireError('invalid_request', `a grader's file cannot be called ${name}`);
    return [name, contentOf(content, `action.files.${name}`)] as const;
  });
  return Object.fromEntries(files);
}

/** A relative path whose names are names. */
const staysBelow = (path: string) =>
  !path.includes('\0') && path.split('/').every((name) => name !== '' && name !== '.' && name !== '..');

const contentOf = (value: unknown, name: string): Content =>
  typeof value === 'string' ? value : { base64: shape.text(shape.fields(value, name)['base64'], name) };

const mostPaths = 1024;
const mostArtifactBytes = 1024 ** 3;
const mostArtifacts = 100_000;

export function parseArtifacts(body: unknown): ArtifactsRequest {
  const { turn, paths, mostBytes, mostFiles } = shape.fields(body, 'the body');
  const named = shape.list(paths, 'paths', shape.text);
  shape.whole(named.length, 'the number of paths', 1, mostPaths);
  return {
    turn: shape.whole(turn, 'turn', 0, Number.MAX_SAFE_INTEGER),
    paths: named,
    mostBytes: shape.whole(mostBytes, 'mostBytes', 0, mostArtifactBytes),
    mostFiles: shape.whole(mostFiles, 'mostFiles', 0, mostArtifacts),
  };
}

const mostComparedFolders = 16;
const mostExceptions = 64;
const mostHomes = 16;

function parseCompared({ below, except }: shape.Fields): Compared {
  return {
    below: parseTexts(below, 'below', 1, mostComparedFolders),
    except: parseTexts(except, 'except', 0, mostExceptions),
  };
}

function parseTexts(value: unknown, name: string, least: number, most: number): readonly string[] {
  const texts = shape.list(value, name, shape.text);
  shape.whole(texts.length, `the length of ${name}`, least, most);
  return texts;
}

export function parseListing(body: unknown): ListingRequest {
  const fields = shape.fields(body, 'the body');
  const { turn, homes, asRoot, mostEntries, mostBytes } = fields;
  const most = Number.MAX_SAFE_INTEGER;
  return {
    ...parseCompared(fields),
    asRoot: asRoot === true,
    homes: homes === null ? null : parseTexts(homes, 'homes', 0, mostHomes),
    turn: turn === null ? null : shape.whole(turn, 'turn', 0, most),
    mostEntries: shape.whole(mostEntries, 'mostEntries', 0, most),
    mostBytes: shape.whole(mostBytes, 'mostBytes', 0, most),
  };
}

export function parseContents(body: unknown): ContentsRequest {
  const { turn, files } = shape.fields(body, 'the body');
  const most = Number.MAX_SAFE_INTEGER;
  const named = shape.list(files, 'files', (value, name) => {
    const { path, bytes } = shape.fields(value, name);
    return { path: shape.text(path, `${name}.path`), bytes: shape.whole(bytes, `${name}.bytes`, 0, most) };
  });
  shape.whole(named.length, 'the number of files', 0, maxChangedFiles);
  return { turn: shape.whole(turn, 'turn', 0, most), files: named };
}

/** The folders below which changes are written, and what is never written there. */
export const parseChangesQuery = (query: URLSearchParams): Compared =>
  parseCompared({ below: query.getAll('below'), except: query.getAll('except') });

function parseExec({ argv, cwd, env, stdin, user, preferBash, merge, openStdin }: shape.Fields): ExecAction {
  return {
    kind: 'exec',
    argv: shape.argv(argv, 'action.argv'),
    ...(cwd === undefined ? {} : { cwd: shape.text(cwd, 'action.cwd') }),
    ...(env === undefined ? {} : { env: shape.texts(env, 'action.env') }),
    ...(stdin === undefined ? {} : { stdin: contentOf(stdin, 'action.stdin') }),
    ...(user === undefined ? {} : { user: parseUser(user, 'action.user') }),
    ...(preferBash === true ? { preferBash } : {}),
    ...(merge === true ? { merge } : {}),
    ...(openStdin === true ? { openStdin } : {}),
  };
}

function parseBuiltin({ tool, arguments: values, env }: shape.Fields): BuiltinAction {
  const checked = Object.entries(shape.fields(values, 'action.arguments')).map(
    ([name, value]) => [name, scalar(value, `action.arguments.${name}`)] as const,
  );
  return {
    kind: 'builtin',
    tool: shape.oneOf(tool, 'action.tool', builtins),
    arguments: Object.fromEntries(checked),
    ...(env === undefined ? {} : { env: shape.texts(env, 'action.env') }),
  };
}

function scalar(value: unknown, name: string): string | number | boolean {
  return typeof value === 'number' || typeof value === 'boolean' ? value : shape.text(value, name);
}

export function parseUser(value: unknown, name: string): CommandUser {
  return shape.oneOf(value, name, commandUsers);
}

/** Absent means the whole. */
export function parseProbeDepth(query: URLSearchParams): ProbeDepth {
  return shape.oneOf(query.get('depth') ?? 'whole', 'depth', probeDepths);
}

/** Whether an identity is to be preceded by a look; absent means not. */
export function parseLook(query: URLSearchParams): boolean {
  return shape.oneOf(query.get('look') ?? 'none', 'look', ['none', 'brief']) === 'brief';
}

/** Milliseconds that a request may be held; absent means not at all. */
export function parseWaitMs(query: URLSearchParams): number {
  return shape.whole(Number(query.get('waitMs') ?? 0), 'waitMs', 0, longestWaitMs);
}

export function parseFilePlace(query: URLSearchParams, form: FilePlace['form']): FilePlace {
  const path = shape.text(query.get('path') ?? undefined, 'path');
  return { path, user: parseUser(query.get('user') ?? 'policy', 'user'), form };
}

/** The most bytes that the asker takes; absent: an older gateway, which looks to it itself. */
export function parseMostBytes(query: URLSearchParams): number {
  const most = Number.MAX_SAFE_INTEGER;
  return shape.whole(Number(query.get('mostBytes') ?? most), 'mostBytes', 0, most);
}

/** Whether an archive leaves out what cannot be read, and says so at its end. */
export const parseReportsLeftOut = (query: URLSearchParams): boolean => query.get('leftOut') === 'report';

/** The caller's own id of an upload; null where it has none. */
export function parseUploadId(query: URLSearchParams): string | null {
  const call = query.get('call');
  return call === null ? null : parseId(call, 'call');
}

export function parseStream(query: URLSearchParams): OutputStream {
  return shape.oneOf(query.get('stream') ?? undefined, 'stream', ['stdout', 'stderr']);
}

/** How much of each stream its reader has; absent means nothing. */
export function parseOffsets(query: URLSearchParams): StreamOffsets {
  const offset = (name: OutputStream) =>
    shape.whole(Number(query.get(name) ?? 0), name, 0, longestStreamBytes);
  return { stdout: offset('stdout'), stderr: offset('stderr') };
}

export function parseStdin(query: URLSearchParams): { readonly offset: number; readonly isLast: boolean } {
  const offset = shape.whole(Number(query.get('offset') ?? 0), 'offset', 0, longestStreamBytes);
  return { offset, isLast: shape.oneOf(query.get('end') ?? 'false', 'end', ['true', 'false']) === 'true' };
}

/** The id in a path, percent-encoded there. */
export function parseCallId(segment: string): string {
  return parseId(decode(segment), 'the call id');
}

function parseId(id: string, name: string): string {
  return shape.text(id.length > 0 && id.length <= longestIdLength ? id : undefined, name);
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
