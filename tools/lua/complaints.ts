import { isBase, type LuaFile } from '#src/adapters/redis/script-library.ts';
import { type LuaNames, type Name, namesOf } from './names.ts';

/** What Redis gives to a library of functions, and its scripts use. */
const ofRedis = ['redis', 'cjson', 'struct'];
const ofLua = ['math', 'string', 'table', 'ipairs', 'pairs', 'unpack', 'tonumber', 'type'];

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
      unknownMembers(file, read),
      idleRequirements(file, read),
      unreadNames(file, read),
      declaredTwice(file, read),
    ].flat(),
  );
}

/** Lua allows 200 locals in one chunk, and Redis refuses a library with one more. */
export function tooManyLocals(chunk: string, most: number): readonly string[] {
  const { length } = namesOf(chunk).declared;
  if (length <= most) return [];
  return [
    `the chunk of all files has ${length} locals, above the limit of ${most}: move some into a module of lib`,
  ];
}

function unknownNames(file: Named, all: readonly Named[], known: ReadonlySet<string>): readonly string[] {
  const required = all.filter(({ name }) => file.requires.includes(name));
  return file.names.free
    .filter(({ name }) => !known.has(name) && !required.some((other) => gives(other, name)))
    .map(({ name, line }) => `${file.name}.lua:${line}: ${name} ${whyUnknown(file, name, all)}`);
}

function whyUnknown(file: Named, name: string, all: readonly Named[]): string {
  if (declares(file, name)) return 'is used above its declaration';
  const giver = all.find((other) => gives(other, name));
  if (giver !== undefined) return `is of ${giver.name}.lua, which is not required`;
  const owner = all.find(({ names }) => names.returned.some((one) => one.name === name));
  return owner === undefined ? 'is declared nowhere' : `is declared nowhere; write ${owner.module}.${name}`;
}

function unknownMembers(file: Named, all: readonly Named[]): readonly string[] {
  return file.names.members.flatMap(({ of, name, line }) => {
    const other = all.find(({ module }) => module === of);
    if (other === undefined || other.names.returned.some((one) => one.name === name)) return [];
    return [`${file.name}.lua:${line}: ${other.name}.lua does not return ${name}`];
  });
}

function idleRequirements(file: Named, all: readonly Named[]): readonly string[] {
  const { name: own, requires, names } = file;
  return requires
    .filter((name) => name !== 'script')
    .filter((name) => {
      const other = all.find((each) => each.name === name);
      return other === undefined || !names.free.some((used) => gives(other, used.name));
    })
    .map((name) => `${own}.lua:1: it requires ${name}.lua and uses nothing of it`);
}

function unreadNames(file: Named, all: readonly Named[]): readonly string[] {
  const { name: own, names } = file;
  const isIdle = ({ name }: Name) => !all.some((other) => isReadIn(other, file, name));
  return [
    ...[...names.unread, ...names.unreadHere.filter(isIdle)].map(
      ({ name, line }) => `${own}.lua:${line}: ${name} is never read`,
    ),
    ...names.returned
      .filter(isIdle)
      .map(({ name, line }) => `${own}.lua:${line}: ${name} is returned, and no file uses it`),
  ];
}

function isReadIn(other: Named, file: Named, name: string): boolean {
  if (other === file || isBase(file.name)) return other.names.free.some((used) => used.name === name);
  return other.names.members.some((used) => used.of === file.module && used.name === name);
}

/** A local that all files see may be declared once: of two, what stands further down sees the second. */
function declaredTwice(file: Named, all: readonly Named[]): readonly string[] {
  const elsewhere = file.names.declared.flatMap(({ name, line }) =>
    all
      .filter((other) => other !== file && gives(other, name))
      .map((other) => `${file.name}.lua:${line}: ${name} is declared in ${other.name}.lua, too`),
  );
  const here = file.names.again.map(
    ({ name, line }) => `${file.name}.lua:${line}: ${name} hides another ${name}`,
  );
  return [...elsewhere, ...here];
}

/** Whether other files see `name` because of this one: the name of its module, or a local of a file without one. */
function gives(file: Named, name: string): boolean {
  if (file.module !== null) return file.module === name;
  return isBase(file.name) && declares(file, name);
}

function declares({ names }: Named, name: string): boolean {
  return names.declared.some((one) => one.name === name);
}
