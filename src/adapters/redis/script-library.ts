import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keyNames, type KeyName, type Keys } from './keys.ts';
import { recordFields } from './record.ts';
import { scriptNames, type ScriptName } from './script-names.ts';

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

const folder = join(import.meta.dirname, 'scripts');

/** `scripts/lib`, in an order in which each file finds what it builds on above it. */
const parts = [
  'time',
  'moment',
  'rollout',
  'row',
  'contact',
  'unsure',
  'run',
  'lacking',
  'line',
  'cost',
  'moves',
  'sandbox',
  'prewarm',
  'grant',
  'call',
  'over',
  'ending',
  'breaker',
  'pulls',
  'start',
  'presence',
  'words',
];

/**
 * All scripts as one library of Redis functions: the shared parts are compiled once and not once a call, which is a
 * fifth of what a claim costs. Library and functions carry the hash of the text, so that two versions of Corral can
 * serve one fleet while one replaces the other.
 */
export async function loadLibrary({ keys, timeLua }: LibraryOptions): Promise<ScriptLibrary> {
  const shared = await Promise.all(
    parts.map(async (part) =>
      part === 'time' && timeLua !== undefined ? timeLua : read(join('lib', `${part}.lua`)),
    ),
  );
  const scripts = await Promise.all(scriptNames.map((name) => read(`${name}.lua`)));
  const hash = createHash('sha256')
    .update([namesLua(keys), ...shared, ...scripts].join('\n'))
    .digest('hex')
    .slice(0, 12);
  const functionOf = (name: ScriptName) => `${name.replaceAll('-', '_')}_${hash}`;
  const registered = scriptNames.map((name, index) => registerLua(functionOf(name), scripts[index] ?? ''));
  const text = [`#!lua name=corral_${hash}`, namesLua(keys), ...shared, ...registered].join('\n');
  return { text, functionOf };
}

const read = (path: string) => readFile(join(folder, path), 'utf8');

function namesLua(keys: Keys): string {
  const names = Object.keys(keyNames).map((name) => `${name} = '${keys(name as KeyName)}'`);
  const fields = recordFields.map((field) => `'${field}'`);
  return `local key = { ${names.join(', ')} }\nlocal recordFields = { ${fields.join(', ')} }`;
}

function registerLua(name: string, script: string): string {
  const guard = script.startsWith('-- unguarded') ? '' : guardLua;
  const callback = `function(KEYS, ARGV)\n${guard}nowMs = clock()\n${script}\nend`;
  if (!script.startsWith('-- reads only')) return `redis.register_function('${name}', ${callback})`;
  // Redis itself then refuses it every write, and runs it also when its memory is full.
  return `redis.register_function{function_name='${name}', callback=${callback}, flags={'no-writes'}}`;
}

/** Another Redis than the fleet's (restarted, or a promoted replica) may have forgotten claims: nothing is decided on it. */
const guardLua = `if redis.call('GET', key.redis) ~= ARGV[1] then
  return redis.error_reply('RECOVERING this Redis is not the one that holds the fleet')
end
`;
