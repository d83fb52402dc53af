import { commandsAsSandboxd } from '../../../src/failure/broken-by.ts';
import type { LossCause } from '../../../src/failure/codes.ts';
import type { Evidence } from '../../../src/failure/failure.ts';
import type { Ending } from '../bwrap/launch.ts';

/** Why we ended a sandbox ourselves. */
export type Asked = 'deleted' | 'expired' | 'start_timeout' | 'socket_lost' | 'node_stopping';

export type Death = { readonly cause: LossCause; readonly evidence: Evidence };

export type DeathFacts = {
  /** Null: it never started. */
  readonly ending: Ending | null;
  readonly asked: Asked | null;
  /** Kills for memory in its whole life; null where they are not counted. */
  readonly outOfMemoryKills: number | null;
  /**
   * The same at the look before the last, at most twice {@link lookEveryMs} before the end: what came after it may have
   * killed sandboxd. Not at the last one: on a busy machine that may fall between a kill and our hearing of it.
   */
  readonly outOfMemoryKillsBefore: number | null;
  /** Whether it ever used all the memory it may; null where that is not known. */
  readonly reachedLimit: boolean | null;
  /** Whether commands run under another id than sandboxd, and so cannot have ended it. */
  readonly idsApart: boolean;
  readonly expiresAtMs: number | null;
  readonly endedAtMs: number;
};

/** How often living sandboxes are looked at: their expiry, and their kills for memory. */
export const lookEveryMs = 1000;

/** sandboxd counts its expiry from bind, the label comes seconds later: an exit this shortly before it is still one. */
const expirySlackMs = 10_000;

/** What is known of a sandbox's end, as a cause and its evidence. */
export function deathOf(facts: DeathFacts): Death {
  const { ending, asked, outOfMemoryKills, reachedLimit } = facts;
  return {
    cause: causeOf(facts),
    evidence: {
      exitCode: ending?.exitCode ?? null,
      signal: ending?.signal ?? null,
      outOfMemoryKills,
      reachedMemoryLimit: reachedLimit,
      endedByNode: asked,
      ...(facts.idsApart || killedByMachine(facts) ? {} : commandsAsSandboxd),
      // A sandbox that was told to go has nothing to explain.
      ...(asked === 'deleted' || ending === null || ending.lastWords === ''
        ? {}
        : { lastWords: ending.lastWords }),
    },
  };
}

function causeOf(facts: DeathFacts): LossCause {
  const { ending, asked, expiresAtMs, endedAtMs } = facts;
  if (asked !== null) return askedCauses[asked];
  if (ending?.signal === 'SIGKILL') return killedForMemory(facts) ? 'out_of_memory' : 'sandboxd_killed';
  if (ending !== null && ending.signal !== null) return 'sandboxd_killed';
  const due = expiresAtMs !== null && endedAtMs >= expiresAtMs - expirySlackMs;
  return ending?.exitCode === 0 && due ? 'expired' : 'sandbox_exited';
}

const askedCauses = {
  deleted: 'deleted',
  expired: 'expired',
  start_timeout: 'sandbox_exited',
  // Nobody can speak to it any more, as if it were dead; where commands have its id, they did that.
  socket_lost: 'sandboxd_killed',
  node_stopping: 'node_lost',
} as const satisfies Record<Asked, LossCause>;

function killedForMemory(facts: DeathFacts): boolean {
  return hasNewKills(facts) && facts.reachedLimit === true;
}

/** A kill below the limit is the machine's own want of memory, which nothing in the sandbox has to answer for. */
function killedByMachine(facts: DeathFacts): boolean {
  return facts.ending?.signal === 'SIGKILL' && hasNewKills(facts) && facts.reachedLimit === false;
}

function hasNewKills({ outOfMemoryKills, outOfMemoryKillsBefore }: DeathFacts): boolean {
  return (outOfMemoryKills ?? 0) > (outOfMemoryKillsBefore ?? 0);
}
