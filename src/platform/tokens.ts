import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { sandboxId, type SandboxId } from '../model/ids.ts';
import type { Random } from '../ports/random.ts';

/**
 * Who may speak to a sandbox: whoever holds the fleet key, from which every sandbox's token is derived. The sandbox
 * gets only the token's sha256, so nothing that can be read inside it, or in the provider's records, opens another.
 *
 * While keys are rotated there are two. Sandboxes that live keep the token of the key they were made under, so a
 * sandbox's id carries its mark, and no one has to try both.
 */
export type FleetKeys = {
  /** Makes tokens of new sandboxes. */
  readonly current: string;
  /** Opens sandboxes that were made under it: the one before, or the next, under which other processes make them already. */
  readonly other: string | null;
};

export type SandboxTokens = {
  tokenOf(sandbox: SandboxId): string;
  /** An id for a new sandbox, marked with the current key. Fit for host names and socket paths: 19 of [0-9a-z-]. */
  newSandbox(random: Random): SandboxId;
};

/** HMAC-SHA256 of the sandbox's id under the fleet key, hex. */
export function sandboxToken(fleetKey: string, sandbox: SandboxId): string {
  return createHmac('sha256', fleetKey).update(sandbox).digest('hex');
}

/** What a sandbox is given to recognise its token by, hex. */
export function tokenSha256(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Processes of a fleet know each other by its key. */
export type PeerTokens = {
  /** For this one statement, so that it proves nothing else to who overhears it. */
  peerToken(statement: string): string;
  isPeerToken(statement: string, presented: string): boolean;
};

export function createPeerTokens(keys: FleetKeys): PeerTokens {
  const known = keys.other === null ? [keys.current] : [keys.current, keys.other];
  return {
    peerToken: (statement) => tokenFor(keys.current, statement),
    isPeerToken: (statement, presented) =>
      known.some((key) => timingSafeEqual(sha256(tokenFor(key, statement)), sha256(presented))),
  };
}

/** No id of a sandbox has a space. */
const tokenFor = (key: string, statement: string) =>
  createHmac('sha256', key).update(`fleet ${statement}`).digest('hex');

const sha256 = (text: string) => createHash('sha256').update(text).digest();

export function createSandboxTokens(keys: FleetKeys): SandboxTokens {
  const prefix = `s${keyMark(keys.current)}-`;
  const otherPrefix = keys.other === null ? null : `s${keyMark(keys.other)}-`;
  return {
    tokenOf: (sandbox) => {
      const isOther = otherPrefix !== null && sandbox.startsWith(otherPrefix);
      return sandboxToken(isOther && keys.other !== null ? keys.other : keys.current, sandbox);
    },
    newSandbox: (random) => sandboxId(prefix + random.text(randomLength)),
  };
}

/** 36^13 ids: two alike among a million sandboxes in a hundred million fleets. */
const randomLength = 13;

/** Four hex digits tell two keys apart and say nothing useful of 256 secret bits. */
export const keyMark = (key: string) =>
  createHmac('sha256', key).update('corral key mark').digest('hex').slice(0, 4);
