import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { CommandError } from '../command-error.ts';
import { identifyProcess, isAlive, parseIdentity, type ProcessIdentity } from './process-identity.ts';

export type FleetLock = { release(): void };

/** Takers that find a dead holder at the same instant undo each other at most a few times. */
const tries = 10;

/**
 * Makes this process the only fleet on a state folder. Throws a CommandError that names the holder's pid. A lock whose
 * holder is dead is taken over.
 */
export function takeFleetLock(path: string): FleetLock {
  const me = identifyProcess(process.pid);
  if (me === null)
    throw new CommandError('cannot read /proc', 'this machine', 'run on Linux with /proc mounted');
  for (let attempt = 0; attempt < tries; attempt += 1) {
    if (linkNew(path, me)) return { release: () => release(path, me) };
    const holder = read(path);
    if (holder !== null && isAlive(holder)) throw takenBy(holder, path);
    putAside(path, holder, me);
  }
  throw new CommandError(`the lock ${path} is contended`, 'this machine', 'try again');
}

/** A link appears whole, and only if the path is free, so that no process reads half a lock. */
function linkNew(path: string, me: ProcessIdentity): boolean {
  const draft = `${path}.${me.pid}`;
  writeFileSync(draft, JSON.stringify(me), { mode: 0o600 });
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Moves a dead holder's lock away; if a live one slipped in between, it is put back. */
function putAside(path: string, dead: ProcessIdentity | null, me: ProcessIdentity): void {
  const aside = `${path}.dead.${me.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  const moved = read(aside);
  if (moved !== null && moved.pid !== dead?.pid && isAlive(moved)) renameSync(aside, path);
  else rmSync(aside, { force: true });
}

function release(path: string, me: ProcessIdentity): void {
  if (read(path)?.pid === me.pid) rmSync(path, { force: true });
}

function read(path: string): ProcessIdentity | null {
  try {
    return parseIdentity(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

function takenBy(holder: ProcessIdentity, path: string): CommandError {
  return new CommandError(
    `a fleet already runs here, process ${holder.pid} (lock ${path})`,
    'yours',
    `use it, stop it with Ctrl-C or "kill ${holder.pid}", or give another folder with --state`,
  );
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
