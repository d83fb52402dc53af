import type { CallEvidence } from '#src/protocol/sandboxd/wire.ts';
import type { Config } from '../config.ts';
import { isAnyFull } from './node-disk.ts';
import type { SharedLimits } from './shared-limits.ts';

/*
 * A pod shares its node's disk, and some limits of the kernel, with other pods. Others can use them up, and what fails here for that is not
 * this sandbox's doing.
 *
 * Looked at from a call's beginning to its end: a neighbor may give back within the second what it took. What is used up and given back between
 * two looks is not seen.
 */

/** What of the node was used up, as the answer of a call tells it. */
export type Shortage = Pick<CallEvidence, 'nodeDiskFull' | 'limitsUsedUp'>;

export type NodeLook = () => Promise<Shortage>;

/** Null: the sandbox shares nothing. */
export function nodeLook(config: Config, limits: SharedLimits): NodeLook | null {
  if (config.ownDiskMebibytes === null && !config.sharesLimits) return null;
  return async () => {
    const [isFull, usedUp] = await Promise.all([isAnyFull(config), limits.look()]);
    return {
      ...(isFull && { nodeDiskFull: true as const }),
      ...(usedUp.length > 0 && { limitsUsedUp: usedUp }),
    };
  };
}

export type NodeWatch = {
  /** Looks a last time. */
  readonly end: () => void;
  /** What was used up at any look; asked after the end. */
  readonly found: () => Promise<Shortage>;
};

/** A look is one system call for each folder, and some for each limit: less than a millisecond. */
const lookEveryMs = 250;

export function watchNode(look: NodeLook | null): NodeWatch {
  if (look === null) return { end: () => undefined, found: async () => ({}) };
  let found: Shortage = {};
  const lookOnce = async () => {
    found = { ...found, ...(await look()) };
  };
  let looking = lookOnce();
  const timer = setInterval(() => {
    looking = lookOnce();
  }, lookEveryMs);
  return {
    end: () => {
      clearInterval(timer);
      looking = lookOnce();
    },
    found: async () => {
      await looking;
      return found;
    },
  };
}

const lookBetweenEveryMs = 1_000;

/**
 * The same between two calls, from the bind on: what is used up while something of the policy's lives makes that fail, and what it has left is
 * what a grader or the next call finds. So the next call says so.
 */
export class NodeBetweenCalls {
  readonly #look: NodeLook | null;
  readonly #lives: () => boolean;
  #looking: Promise<void> | null = null;
  #found: Shortage = {};

  /** `lives`: whether any process of the policy's does; asked only while something is used up. */
  constructor(look: NodeLook | null, lives: () => boolean) {
    this.#look = look;
    this.#lives = lives;
  }

  begin(): void {
    const look = this.#look;
    if (look === null) return;
    setInterval(() => void (this.#looking ??= this.#lookOnce(look)), lookBetweenEveryMs).unref();
  }

  get found(): Shortage {
    return this.#found;
  }

  async #lookOnce(look: NodeLook): Promise<void> {
    const now = await look();
    if (Object.keys(now).length > 0 && this.#lives()) this.#found = { ...this.#found, ...now };
    this.#looking = null;
  }
}
