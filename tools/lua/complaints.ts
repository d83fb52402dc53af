import type { LuaFile } from '#src/adapters/redis/script-library.ts';
import { type LuaNames, namesOf } from './names.ts';

/** What Redis gives to a library of functions, and its scripts use. */
const ofRedis = ['redis', 'cjson', 'struct'];
const ofLua = ['math', 'string', 'table', 'ipairs', 'pairs', 'unpack', 'tonumber'];

type Named = LuaFile & { readonly names: LuaNames };

/**
 * What is wrong with the names of Lua files that are read as one text. Lua takes a misspelt name for a global that is nil,
 * and says so when the script runs, if ever. `given`: names that stand above all files.
 */
export function luaComplaints(files: readonly LuaFile[], given: readonly string[]): readonly string[] {
  const read = files.map((file) => ({ ...file, names: namesOf(file.text) }));
  const known = new Set([...ofRedis, ...ofLua, ...given]);
  return read.flatMap((file) =>
    [
      unknownNames(file, read, known),
      idleRequirements(file, read),
      unreadNames(file, read),
      declaredTwice(file, read),
    ].flat(),
  );
}

function unknownNames(file: Named, all: readonly Named[], known: ReadonlySet<string>): readonly string[] {
  const required = all.filter(({ name }) => file.requires.includes(name));
  return file.names.free
    .filter(({ name }) => !known.has(name) && !required.some((other) => declares(other, name)))
    .map(({ name, line }) => {
      const from = all.find((other) => declares(other, name));
      return `${file.name}.lua:${line}: ${name} ${whyUnknown(file, from)}`;
    });
}

function whyUnknown(file: Named, declaredIn: Named | undefined): string {
  if (declaredIn === undefined) return 'is declared nowhere';
  if (declaredIn === file) return 'is used above its declaration';
  return `is of ${declaredIn.name}.lua, which is not required`;
}

function idleRequirements(file: Named, all: readonly Named[]): readonly string[] {
  const { name: own, requires, names } = file;
  return requires
    .filter((name) => name !== 'script')
    .filter((name) => {
      const other = all.find((each) => each.name === name);
      return other === undefined || !names.free.some((used) => declares(other, used.name));
    })
    .map((name) => `${own}.lua:1: it requires ${name}.lua and uses nothing of it`);
}

function unreadNames({ name: own, names }: Named, all: readonly Named[]): readonly string[] {
  const elsewhere = names.unreadHere.filter(
    ({ name }) => !all.some((other) => other.names.free.some((used) => used.name === name)),
  );
  return [...names.unread, ...elsewhere].map(({ name, line }) => `${own}.lua:${line}: ${name} is never read`);
}

/** Of two, what stands further down sees the second, and no reader sees which. */
function declaredTwice({ name: own, names }: Named, all: readonly Named[]): readonly string[] {
  const others = all.filter((other) => other.name !== own);
  const elsewhere = names.declared.flatMap(({ name, line }) =>
    others
      .filter((other) => declares(other, name))
      .map((other) => `${own}.lua:${line}: ${name} is declared in ${other.name}.lua, too`),
  );
  const here = names.again.map(({ name, line }) => `${own}.lua:${line}: ${name} hides another ${name}`);
  return [...elsewhere, ...here];
}

function declares({ names }: Named, name: string): boolean {
  return names.declared.some((one) => one.name === name);
}
