import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { FleetKeys } from './tokens.ts';

/** One key a line, the current one first; a second line is the key that is being rotated out. */
export function parseFleetKeys(text: string): FleetKeys {
  const lines = text.split('\n').map((line) => line.trim());
  const [current, previous, ...more] = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (current === undefined || more.length > 0) {
    throw new Error('a fleet key file has one key, or two while keys are rotated, each on its own line');
  }
  const short = [current, previous].find((key) => key !== undefined && !keyPattern.test(key));
  if (short !== undefined) {
    throw new Error('a fleet key is at least 64 hex digits; make one with: openssl rand -hex 32');
  }
  return { current, previous: previous ?? null };
}

const keyPattern = /^[0-9a-f]{64,}$/i;

/** Reads the fleet's keys. Errors name the file and what to do. */
export async function readFleetKeys(path: string): Promise<FleetKeys> {
  try {
    return parseFleetKeys(await readFile(path, 'utf8'));
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Error(`the fleet key file ${path} cannot be used: ${reason}`, { cause: thrown });
  }
}

/** Makes the key file (mode 0600) if there is none, then reads it. Any number of processes may do it at once. */
export async function ensureFleetKeys(path: string): Promise<FleetKeys> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  await writeFile(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // A link fails where the name is taken: the first one wins, whole, and everybody reads his.
    await link(draft, path);
  } catch (thrown) {
    if (!isTaken(thrown)) throw thrown;
  } finally {
    await rm(draft);
  }
  return readFleetKeys(path);
}

const isTaken = (thrown: unknown) => thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST';
