import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keyNames, type KeyName, type Keys } from './keys.ts';
import { claimedFields, fieldsOver, recordFields } from '#src/protocol/rollout/fields.ts';

export type ScriptLibrary = {
  /** What Redis is given once: a library of functions. */
  readonly text: string;
  /** The function's name inside Redis. */
  functionOf(name: ScriptName): string;
};

export type LibraryOptions = {
  readonly keys: Keys;
  /** Stands for `lib/time.lua`, so that a test can step the clock. */
  readonly timeLua?: string;
};

export type LuaFile = { readonly name: string; readonly text: string; readonly requires: readonly string[] };

const folder = join(import.meta.dirname, 'scripts');

/**
 * All scripts as one library of Redis functions: what they share is compiled once and not once a call, which is a fifth
 * of what a claim costs. Library and functions carry the hash of the text, so that two versions of Corral can serve one
 * fleet while one replaces the other.
 */
export async function loadLibrary({ keys, timeLua }: LibraryOptions): Promise<ScriptLibrary> {
  const files = inOrder(await luaFiles());
  const texts = files.map(({ name, text }) => (name === 'time' ? (timeLua ?? text) : text));
  const hash = createHash('sha256')
    .update([givenLua(keys, ''), ...texts].join('\n'))
    .digest('hex')
    .slice(0, 12);
  return {
    text: [`#!lua name=corral_${hash}`, givenLua(keys, hash), ...texts].join('\n'),
    functionOf: (name) => functionName(name, hash),
  };
}

const functionName = (name: ScriptName, hash: string) => `${name.replaceAll('-', '_')}_${hash}`;

/** What scripts find beside Lua's and Redis' own names: what its functions are called, names of keys, and lists of a rollout's fields. */
export function givenLua(keys: Keys, hash: string): string {
  const names = Object.keys(keyNames).map((name) => `${name} = '${keys(name as KeyName)}'`);
  const functions = scriptNames.map((name) => `['${name}'] = '${functionName(name, hash)}'`);
  const places = recordFields.map((field, index) => `${field} = ${index + 1}`);
  return `local functionNames = { ${functions.join(', ')} }
local key = { ${names.join(', ')} }
local recordFields, placeInRecord = ${list(recordFields)}, { ${places.join(', ')} }
local claimedFields = ${list(claimedFields)}
local fieldsOver, shortFieldsOver = ${list(fieldsOver.always)}, ${list(fieldsOver.ifShort)}`;
}

const list = (names: readonly string[]) => `{ ${names.map((name) => `'${name}'`).join(', ')} }`;

/** Of both folders: `scripts/lib` has what scripts share. */
export async function luaFiles(): Promise<readonly LuaFile[]> {
  const paths = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.lua')).sort();
  return Promise.all(paths.map(async (path) => luaFile(path, await readFile(join(folder, path), 'utf8'))));
}

/**
 * Its first line says what it builds on: `-- requires: line, sandbox`, and `npm run check:lua` sees that this is true. All but
 * the clock build on `lib/script.lua` and need not say so.
 */
export function luaFile(path: string, text: string): LuaFile {
  const name = path.replace(/^lib\//, '').replace('.lua', '');
  const listed = /^-- requires: (.*)/.exec(text)?.[1]?.split(', ') ?? [];
  return { name, text, requires: name === 'time' || name === 'script' ? listed : ['script', ...listed] };
}

/** Lua finds what stands above it: each file after those that it requires. */
export function inOrder(files: readonly LuaFile[]): readonly LuaFile[] {
  const placed = new Set<LuaFile>();
  const place = (file: LuaFile, path: readonly string[]): void => {
    if (path.includes(file.name))
      throw new Error(`a circle of Lua files: ${[...path, file.name].join(' → ')}`);
    for (const name of file.requires) place(named(files, name, file), [...path, file.name]);
    placed.add(file);
  };
  for (const file of files) place(file, []);
  return [...placed];
}

function named(files: readonly LuaFile[], name: string, asker: LuaFile): LuaFile {
  const found = files.find((file) => file.name === name);
  if (found === undefined) throw new Error(`${asker.name}.lua requires ${name}.lua, which is not there`);
  return found;
}

/** Every transition and every reading of fleet state, one round trip each, by the file of `scripts/` that it stands in. */
export const scripts = {
  aliases: ['name-image', 'named-image'],
  calls: [
    'admit',
    'settle',
    'withdraw-call',
    'unsent-call',
    'overdue-calls',
    'lookup-call',
    'list-calls',
    'read-transcript',
  ],
  claim: ['claim'],
  environments: [
    'publish-environment',
    'load-environment',
    'list-environments',
    'versions-beginning',
    'pin-version',
    'publish-catalog',
    'load-catalog',
    'hold-catalog',
  ],
  grading: [
    'begin-grade',
    'store-score',
    'fail-grade',
    'discard-rollout',
    'artifacts-taken',
    'release-grader',
  ],
  launching: ['keep-plan', 'demand', 'look-at', 'reserve', 'ready', 'launch-failed', 'overdue-launches'],
  recovery: ['adopt', 'adopted-at', 'read-kept', 'mark-lost', 'restore-sandbox', 'restore-rollout'],
  reports: ['report-run', 'report-groups', 'list-rollouts', 'list-runs', 'list-cost'],
  rollouts: [
    'find',
    'read-row',
    'heartbeat',
    'close',
    'expire-due',
    'keep-contact',
    'renew-run',
    'close-run',
    'lapsed-runs',
    'release-lapsed',
  ],
  sandboxes: [
    'known-sandboxes',
    'moved-sandboxes',
    'take-errands',
    'draining',
    'forget',
    'withdraw-sandbox',
    'lose',
  ],
  templates: ['announce', 'choose', 'list-chosen', 'counts', 'known-templates', 'retire'],
  waiting: ['renew', 'place', 'swap', 'take-back-grants'],
  watch: ['watch', 'tell-presence', 'tell-event-log', 'list-event-logs'],
} as const;

const scriptNames = Object.values(scripts).flat();

export type ScriptName = (typeof scripts)[keyof typeof scripts][number];
