import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keyNames, type KeyName, type Keys } from './keys.ts';
import { aliases } from './scripts/aliases.ts';
import { calls } from './scripts/calls.ts';
import { claim } from './scripts/claim.ts';
import { controls } from './scripts/controls.ts';
import { dependencies } from './scripts/dependencies.ts';
import { environments } from './scripts/environments.ts';
import { gateways } from './scripts/gateways.ts';
import { guards } from './scripts/guards.ts';
import { grading } from './scripts/grading.ts';
import { launching } from './scripts/launching.ts';
import { recovery } from './scripts/recovery.ts';
import { replays } from './scripts/replays.ts';
import { reports } from './scripts/reports.ts';
import { rollouts } from './scripts/rollouts.ts';
import { sandboxes } from './scripts/sandboxes.ts';
import { templates } from './scripts/templates.ts';
import { waiting } from './scripts/waiting.ts';
import { watch } from './scripts/watch.ts';
import { productionTimings, type Timings } from '#src/model/timings.ts';
import { claimedFields, fieldsOver, replyFields } from '#src/protocol/rollout/fields.ts';

export type ScriptLibrary = {
  /** What Redis is given once: a library of functions. */
  readonly text: string;
  /** The function's name inside Redis. */
  functionOf(name: ScriptName): string;
};

export type LibraryOptions = {
  readonly keys: Keys;
  /** Default: production's. */
  readonly timings?: Timings;
  /** Stands for `lib/time.lua`, so that a test can step the clock. */
  readonly timeLua?: string;
};

export type LuaFile = {
  readonly name: string;
  readonly text: string;
  readonly requires: readonly string[];
  /** The name of the table that it returns: `Line` of lib/line.lua. Null: it registers scripts, or all files see its locals. */
  readonly module: string | null;
};

const folder = join(import.meta.dirname, 'scripts');

/**
 * All scripts as one library of Redis functions: what they share is compiled once and not once a call, which is a fifth
 * of what a claim costs. Library and functions carry the hash of the text, so that two versions of Corral can serve one
 * fleet while one replaces the other.
 */
export async function loadLibrary({ keys, timings, timeLua }: LibraryOptions): Promise<ScriptLibrary> {
  const files = await luaFiles(timeLua);
  const hash = createHash('sha256')
    .update(chunkOf(files, givenLua(keys, '', timings)))
    .digest('hex')
    .slice(0, 12);
  return {
    text: [`#!lua name=corral_${hash}`, chunkOf(files, givenLua(keys, hash, timings))].join('\n'),
    functionOf: (name) => functionName(name, hash),
  };
}

const functionName = (name: ScriptName, hash: string) => `${name.replaceAll('-', '_')}_${hash}`;

/** What scripts find beside Lua's and Redis' own names: what its functions are called, names of keys, timings, and lists of a rollout's fields. */
export function givenLua(keys: Keys, hash: string, timings: Timings = productionTimings): string {
  const names = Object.keys(keyNames).map((name) => `${name} = '${keys(name as KeyName)}'`);
  const functions = scriptNames.map((name) => `['${name}'] = '${functionName(name, hash)}'`);
  const durations = Object.entries(timings).map(([name, ms]) => `${name} = ${ms}`);
  return `local functionNames = { ${functions.join(', ')} }
local key = { ${names.join(', ')} }
local timing = { ${durations.join(', ')} }
local replyFields, claimedFields = ${list(replyFields)}, ${list(claimedFields)}
local fieldsOver, shortFieldsOver = ${list(fieldsOver.always)}, ${list(fieldsOver.ifShort)}`;
}

const list = (names: readonly string[]) => `{ ${names.map((name) => `'${name}'`).join(', ')} }`;

/** Of both folders: `scripts/lib` has what scripts share. `timeLua`: in place of the text of `lib/time.lua`. */
export async function luaFiles(timeLua?: string): Promise<readonly LuaFile[]> {
  const paths = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.lua')).sort();
  const read = async (path: string) =>
    (path === 'lib/time.lua' ? timeLua : undefined) ?? readFile(join(folder, path), 'utf8');
  return Promise.all(paths.map(async (path) => luaFile(path, await read(path))));
}

/**
 * Its first line names the files whose modules it uses: `-- requires: line, sandbox`; `npm run check:lua` verifies it. All but
 * the clock build on `lib/script.lua` and need not say so. A file of `lib` returns a table, which is its module.
 */
export function luaFile(path: string, text: string): LuaFile {
  const name = path.replace(/^lib\//, '').replace('.lua', '');
  const listed = /^-- requires: (.*)/.exec(text)?.[1]?.split(', ') ?? [];
  const module = path.startsWith('lib/') && !isBase(name) ? moduleName(name) : null;
  return { name, text, requires: isBase(name) ? listed : ['script', ...listed], module };
}

const moduleName = (file: string) => file.charAt(0).toUpperCase() + file.slice(1);

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

/** All files as the one chunk that Redis compiles. `given`: what stands above them. */
export function chunkOf(files: readonly LuaFile[], given: string): string {
  return [given, ...inOrder(files).map(composed)].join('\n');
}

/** Lua allows 200 locals in a chunk: what a file declares is its own, and its module is one local of the chunk. */
function composed({ name, text, module }: LuaFile): string {
  if (isBase(name)) return text;
  return module === null ? `do\n${text}\nend` : `local ${module} = (function()\n${text}\nend)()`;
}

/** Its locals are locals of the chunk, which all files see: the clock, the time of a script, and how a script is registered. */
export function isBase(name: string): boolean {
  return name === 'time' || name === 'script';
}

/** Every transition and every reading of fleet state, one round trip each, by the file of `scripts/` that it stands in. */
export const scripts = {
  aliases,
  calls,
  claim,
  controls,
  dependencies,
  environments,
  gateways,
  grading,
  guards,
  launching,
  recovery,
  replays,
  reports,
  rollouts,
  sandboxes,
  templates,
  waiting,
  watch,
} as const;

export const contracts = {
  ...aliases,
  ...calls,
  ...claim,
  ...controls,
  ...dependencies,
  ...environments,
  ...gateways,
  ...grading,
  ...guards,
  ...launching,
  ...recovery,
  ...replays,
  ...reports,
  ...rollouts,
  ...sandboxes,
  ...templates,
  ...waiting,
  ...watch,
} as const;

export type ScriptName = keyof typeof contracts;

const scriptNames = Object.keys(contracts) as readonly ScriptName[];
