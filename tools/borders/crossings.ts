import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import type { Room } from './rooms.ts';

export type Crossing = {
  readonly file: string;
  readonly line: number;
  readonly imported: string;
  readonly room: string;
  readonly because: string;
};

type Import = { readonly specifier: string; readonly line: number };

// The formatter keeps each `from '…'` on the line that begins with import, export or the closing brace of either.
const staticImport = /^(?:import|export|\})\s?(?:.*\bfrom )?'([^']+)'/;
const dynamicImport = /\bimport\('([^']+)'\)/;

/** Every module that this text imports or re-exports, types included. */
export function importsOf(text: string): readonly Import[] {
  return text.split('\n').flatMap((content, index) => {
    const specifier = (staticImport.exec(content) ?? dynamicImport.exec(content))?.[1];
    return specifier === undefined ? [] : [{ specifier, line: index + 1 }];
  });
}

/**
 * `file` is a path from the root of the checkout. A file without a room is a crossing of its own: no rule holds it. So is an
 * import that climbs more than one folder: it is read at a glance when it says where from, and moves with neither end.
 */
export function crossingsOf(file: string, text: string, rooms: readonly Room[]): readonly Crossing[] {
  const room = rooms.find((candidate) => candidate.files.test(file));
  if (room === undefined) return [homeless(file)];
  return importsOf(text).flatMap(({ specifier, line }) => {
    const imported = pathOf(file, specifier) ?? specifier;
    const crossing = { file, line, imported, room: room.name };
    if (climbs.test(specifier)) return [{ ...crossing, because: `its import is written '#${imported}'` }];
    return isAllowed(file, specifier, room) ? [] : [{ ...crossing, because: room.because }];
  });
}

// package.json is not of any folder that `imports` names.
const climbs = /^\.\.\/\.\.\/(?!package\.json)/;

function isAllowed(file: string, specifier: string, room: Room): boolean {
  const path = pathOf(file, specifier);
  if (path !== null) return isAllowedPath(file, path, room);
  if (isBuiltin(specifier)) return room.builtins;
  return room.packages === 'any' || room.packages.includes(packageOf(specifier));
}

function isAllowedPath(file: string, target: string, room: Room): boolean {
  const home = room.own.exec(file)?.[0];
  if (home !== undefined && room.own.exec(target)?.[0] === home) return true;
  return room.may.some((prefix) => target.startsWith(prefix));
}

/** From the root of the checkout; null for a package and for what is Node's. */
export function pathOf(file: string, specifier: string): string | null {
  if (specifier.startsWith('#')) return specifier.slice(1);
  return specifier.startsWith('.') ? posix.join(posix.dirname(file), specifier) : null;
}

/** `@scope/name/sub` → `@scope/name`; `name/sub` → `name`. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function homeless(file: string): Crossing {
  const because = 'every source file belongs to a room; add its folder to tools/borders/rooms.ts';
  return { file, line: 1, imported: 'anything', room: 'none', because };
}

export function describeCrossing({ file, line, imported, room, because }: Crossing): string {
  return `${file}:${line} imports ${imported}, which the room "${room}" may not: ${because}`;
}
