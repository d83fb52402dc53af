import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keyNames, type KeyName, type Keys } from './keys.ts';
import { recordFields } from './record.ts';
import type { ScriptName } from './script-names.ts';

export type Script = { readonly text: string; readonly sha: string };

export type SourceOptions = {
  readonly keys: Keys;
  /** Stands for `lib/time.lua`, so that a test can step the clock. */
  readonly timeLua?: string;
};

const folder = join(import.meta.dirname, 'scripts');

/**
 * The whole text of a script as Redis gets it: the names of the keys it uses, the check that this is the fleet's
 * Redis, the libraries that it asks for in its first line (`-- uses: line sandbox`) and those that they ask for, and
 * the script itself.
 */
export async function loadScript(name: ScriptName, options: SourceOptions): Promise<Script> {
  const own = await readFile(join(folder, `${name}.lua`), 'utf8');
  const libraries = new Map<string, string>();
  for (const library of usedBy(own)) await collect(library, libraries, options.timeLua);
  const body = [...libraries.values(), own].join('\n');
  const guard = own.startsWith('-- unguarded') ? '' : guardLua;
  const text = [namesLua(guard + body, options.keys), guard, body].join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** Puts a library behind everything that it needs itself. */
async function collect(library: string, into: Map<string, string>, timeLua?: string): Promise<void> {
  if (into.has(library)) return;
  const text =
    library === 'time' && timeLua !== undefined
      ? timeLua
      : await readFile(join(folder, 'lib', `${library}.lua`), 'utf8');
  for (const needed of usedBy(text)) await collect(needed, into, timeLua);
  into.set(library, text);
}

function usedBy(source: string): readonly string[] {
  const uses = /^-- uses: (.+)$/m.exec(source.slice(0, source.indexOf('\n')))?.[1];
  return uses?.split(' ') ?? [];
}

/** Only the names that the text speaks of: a script builds this table each time it runs. */
function namesLua(body: string, keys: Keys): string {
  const used = new Set([...body.matchAll(/\bkey\.(\w+)/g)].map(([, name]) => name));
  const entries = Object.keys(keyNames)
    .filter((name): name is KeyName => used.has(name))
    .map((name) => `${name} = '${keys(name)}'`);
  const fields = recordFields.map((field) => `'${field}'`);
  return `local key = { ${entries.join(', ')} }\nlocal recordFields = { ${fields.join(', ')} }`;
}

/** Another Redis than the fleet's (restarted, or a promoted replica) may have forgotten claims: nothing is decided on it. */
const guardLua = `
if redis.call('GET', key.redis) ~= ARGV[1] then
  return redis.error_reply('RECOVERING this Redis is not the one that holds the fleet')
end`;
