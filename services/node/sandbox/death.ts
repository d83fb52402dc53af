import { commandsAsSandboxd, failsEverywhere, type LossCause } from '#src/failure/codes.ts';
import type { Evidence } from '#src/failure/failure.ts';
import { saidBySandbox } from '#src/failure/witness.ts';
import type { LackedBy, MemoryKills } from '#src/platform/memory-account.ts';
import type { Ending } from '../bwrap/launch.ts';

/** Why we ended a sandbox ourselves. */
export type Asked =
  | 'deleted'
  | 'expired'
  | 'start_timeout'
  | 'socket_lost'
  | 'machine_out_of_memory'
  | 'node_stopping';

export type Death = { readonly cause: LossCause; readonly evidence: Evidence };

export type DeathFacts = {
  /** Null: it never started. */
  readonly ending: Ending | null;
  readonly asked: Asked | null;
  /** Its start failed in a way that every other sandbox of its template would, too. */
  readonly failsEverywhere: boolean;
  /**
   * Kills for memory since shortly before sandboxd was last seen alive, so that one of them may have been it; null where
   * they are not counted. Not by the time of its end: on a busy machine that is heard of seconds after a kill.
   */
  readonly memoryKills: MemoryKills | null;
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
  const { ending, asked, memoryKills } = facts;
  return {
    cause: causeOf(facts),
    evidence: {
      exitCode: ending?.exitCode ?? null,
      signal: ending?.signal ?? null,
      outOfMemoryKills: memoryKills?.count ?? null,
      memoryLackedBy: memoryKills?.lackedBy ?? null,
      endedByNode: asked,
      ...(couldBeCommand(facts) ? commandsAsSandboxd : {}),
      // With its id a command can end it like that.
      ...(!facts.idsApart && causeOf(facts) === 'expired' && asked === null ? saidBySandbox : {}),
      // A sandbox that was told to go has nothing to explain.
      ...(asked === 'deleted' || ending === null || ending.lastWords === ''
        ? {}
        : { lastWords: ending.lastWords }),
      ...(facts.failsEverywhere && asked === null ? failsEverywhere : {}),
    },
  };
}

/** A kill for memory is not a command's unless the sandbox certainly reached its own limit. */
function couldBeCommand(facts: DeathFacts): boolean {
  const { idsApart, memoryKills } = facts;
  return !idsApart && causeOf(facts) !== 'node_out_of_memory' && memoryKills?.lackedBy !== 'unknown';
}

/** What a program that sets a sandbox up says of a folder; a lack of memory, disk or namespaces reads otherwise. */
const wordsOfFolders = [
  'No such file or directory',
  'Not a directory',
  'Permission denied',
  'Operation not permitted',
  'Read-only file system',
  'does not exist',
];

/** Whether bubblewrap or `mount` could not mount what the template names: no other sandbox of it can, until a folder changes. */
export function couldNotMount(lastWords: string): boolean {
  const said = lastWords
    .split('\n')
    .filter((line) => line.startsWith('bwrap: ') || line.startsWith('mount: '));
  return said.some((line) => wordsOfFolders.some((words) => line.replace(/\.$/, '').endsWith(words)));
}

function causeOf(facts: DeathFacts): LossCause {
  const { ending, asked, memoryKills, expiresAtMs, endedAtMs } = facts;
  if (asked !== null) return askedCauses[asked];
  if (ending?.signal === 'SIGKILL') return killCauses[memoryKills?.lackedBy ?? 'unknown'];
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
  machine_out_of_memory: 'node_out_of_memory',
  node_stopping: 'node_lost',
} as const satisfies Record<Asked, LossCause>;

/** Of a kill that the fleet did not ask for, by who lacked memory. */
const killCauses = {
  sandbox: 'out_of_memory',
  machine: 'node_out_of_memory',
  // This cause is always marked.
  unknown: 'sandboxd_killed',
} as const satisfies Record<LackedBy, LossCause>;
