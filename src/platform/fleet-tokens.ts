import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { type Loop, reread } from './every.ts';
import {
  createPeerTokens,
  createSandboxTokens,
  type FleetKeys,
  keyMark,
  type PeerTokens,
  type SandboxTokens,
} from './tokens.ts';
import { randomBytes } from 'node:crypto';
import { access, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/*
 * The tokens of a running process, whose fleet key may be rotated under it:
 *
 *   old  ──▶  old,new  ──▶  new,old  ──▶  new
 *
 * Each process reads each step at a moment of its own. So the next key is first known to all, then used by all, and the
 * old one goes when no sandbox that was made under it lives any more.
 */
export type FleetTokens = SandboxTokens &
  PeerTokens & {
    /** Takes changes of the file in force until the signal aborts. */
    watch(world: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal }): Loop;
  };

/** Reads the key file, makes it where there is none. Throws what is wrong with it. */
export async function openFleetTokens(path: string): Promise<FleetTokens> {
  let keys = await ensureFleetKeys(path);
  // Replaced as a whole: whoever asks has both keys of one reading.
  let tokens = tokensOf(keys);
  const refresh = async () => {
    const read = await readFleetKeys(path);
    if (read.current === keys.current && read.other === keys.other) return null;
    if (!haveOneInCommon(read, keys)) throw new Error(abrupt);
    keys = read;
    tokens = tokensOf(keys);
    return { current: keyMark(keys.current), other: keys.other === null ? 'none' : keyMark(keys.other) };
  };
  return {
    tokenOf: (sandbox) => tokens.tokenOf(sandbox),
    peerToken: (statement) => tokens.peerToken(statement),
    isPeerToken: (statement, presented) => tokens.isPeerToken(statement, presented),
    newSandbox: (random) => tokens.newSandbox(random),
    watch: (world) => reread({ ...world, what: 'fleet keys', refresh }),
  };
}

const tokensOf = (keys: FleetKeys) => ({ ...createSandboxTokens(keys), ...createPeerTokens(keys) });

const abrupt =
  'it has none of the keys in force, and would lose every sandbox that lives: write the old key and the new one, then the new one first, then the new one alone';

const haveOneInCommon = (some: FleetKeys, others: FleetKeys) =>
  [some.current, some.other].some((key) => key === others.current || (key !== null && key === others.other));

/** One key a line, the current one first; a second line is the other one while keys are rotated. */
export function parseFleetKeys(text: string): FleetKeys {
  const lines = text.split('\n').map((line) => line.trim());
  const [current, other = null, ...more] = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (current === undefined || more.length > 0) {
    throw new Error('a fleet key file has one key, or two while keys are rotated, each on its own line');
  }
  if (![current, other ?? current].every((key) => keyPattern.test(key))) {
    throw new Error('a fleet key is at least 64 hex digits; make one with: openssl rand -hex 32');
  }
  if (other !== null && keyMark(other) === keyMark(current)) {
    throw new Error('the two fleet keys cannot be told apart; make another with: openssl rand -hex 32');
  }
  return { current, other };
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

/**
 * Reads the key file; makes it (mode 0600) if there is none. Any number of processes may do it at once. One that is there
 * is only read: a Secret is mounted read-only.
 */
export async function ensureFleetKeys(path: string): Promise<FleetKeys> {
  if (!(await isThere(path))) await makeFleetKey(path).catch(cannotMake(path));
  return readFleetKeys(path);
}

const cannotMake = (path: string) => (thrown: unknown) => {
  throw new Error(
    `the fleet key file ${path} is not there and cannot be made (${String(thrown)}); mount the Secret that has it`,
    { cause: thrown },
  );
};

const isThere = (path: string) =>
  access(path).then(
    () => true,
    (thrown: unknown) => !hasCode(thrown, 'ENOENT'),
  );

async function makeFleetKey(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  await writeFile(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // A link fails where the name is taken: the first one wins, whole, and everybody reads his.
    await link(draft, path);
  } catch (thrown) {
    if (!hasCode(thrown, 'EEXIST')) throw thrown;
  } finally {
    await rm(draft);
  }
}

const hasCode = (thrown: unknown, code: string) =>
  thrown instanceof Error && 'code' in thrown && thrown.code === code;
