import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Loop } from './every.ts';
import { ensureFleetKeys, readFleetKeys } from './fleet-key-file.ts';
import { reread } from './reread.ts';
import {
  createPeerTokens,
  createSandboxTokens,
  type FleetKeys,
  keyMark,
  type PeerTokens,
  type SandboxTokens,
} from './tokens.ts';

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
