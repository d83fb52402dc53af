import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import type { ObjectStore } from '#src/ports/object-store.ts';
import type { Random } from '#src/ports/random.ts';
import { retrying } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';
import { packSegment, type Rollouts } from './segment.ts';
import { indexOf, runFolder, segmentName } from './segment-names.ts';

export type TrajectoryLogOptions = {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Once it is aborted, each segment has one more try. */
  readonly giveUp: AbortSignal;
  /** Counts lines that are lost. */
  readonly onDropped: (lines: number) => void;
  /** Counts bytes that the store has. */
  readonly onWritten: (bytes: number) => void;
  /** How long lines are gathered for a segment; default 10 s. */
  readonly segmentMs?: number;
  /** A segment is closed before then at this size; default 16 MiB. */
  readonly segmentBytes?: number;
  /** Lines that are not stored yet; default 64 MiB. */
  readonly maxBufferedBytes?: number;
};

export type TrajectoryLog = {
  /** Never waits, and never throws: a line without room is counted and lost. */
  readonly add: (line: Buffer, key: RolloutKey) => void;
  /** Resolves when everything that was added is stored, or lost. */
  flush(): Promise<void>;
};

const mebibyte = 1024 * 1024;
/** Two processes of one name meet once in 10^12. */
const writerLength = 8;

/*
 *   idle       no line waits
 *   gathering  lines wait for their segment to be closed
 *   storing    closed segments go to the store; lines that come meanwhile wait for the next ones
 *
 * The store may be slow or away: lines wait in a bounded buffer, a segment is tried for minutes, and what is lost is counted. No
 * call and no grade waits for any of it.
 */
export function createTrajectoryLog(given: TrajectoryLogOptions): TrajectoryLog {
  const { clock, log, onDropped, segmentMs = 10_000, segmentBytes = 16 * mebibyte } = given;
  const { maxBufferedBytes = 64 * mebibyte } = given;
  const storing = createSegments(given);
  let open: OpenRuns = new Map();
  let [openBytes, allBytes] = [0, 0];
  let running: Promise<void> | null = null;
  let hurry = new AbortController();
  let flushes = 0;
  let isFull = false;

  const storeAll = async (): Promise<void> => {
    while (openBytes > 0) {
      if (flushes === 0) await clock.sleep(segmentMs, hurry.signal);
      const [closed, bytes] = [open, openBytes];
      [open, openBytes, hurry] = [new Map(), 0, new AbortController()];
      for (const [folder, rollouts] of closed) await storing(folder, rollouts);
      allBytes -= bytes;
      isFull = false;
    }
    running = null;
  };

  return {
    add: (line, key) => {
      const bytes = line.length;
      if (allBytes + bytes > maxBufferedBytes) {
        onDropped(1);
        if (!isFull)
          log.error('the trajectory store is too slow: lines are dropped until it has stored more', { key });
        isFull = true;
        return;
      }
      addTo(open, line, key);
      openBytes += bytes;
      allBytes += bytes;
      if (running === null) {
        hurry = new AbortController();
        running = storeAll();
      }
      if (openBytes >= segmentBytes) hurry.abort('full');
    },
    flush: async () => {
      flushes += 1;
      hurry.abort('flush');
      // What came while segments were stored is stored, too.
      await running;
      flushes -= 1;
    },
  };
}

type OpenRuns = Map<string, Map<RolloutKey, Buffer[]>>;

function addTo(open: OpenRuns, line: Buffer, key: RolloutKey): void {
  const folder = runFolder(ownerOf(key));
  const rollouts = open.get(folder) ?? new Map<RolloutKey, Buffer[]>();
  open.set(folder, rollouts);
  const lines = rollouts.get(key) ?? [];
  rollouts.set(key, lines);
  lines.push(line);
}

/** Stores a segment and then its index, so that an index is never of a segment that is not there. Never throws. */
function createSegments(given: TrajectoryLogOptions) {
  const { store, clock, random, log, giveUp, onDropped, onWritten } = given;
  const writer = `gateway-${random.text(writerLength)}`;
  let number = 0;
  return async (folder: string, rollouts: Rollouts): Promise<void> => {
    number += 1;
    const name = segmentName(folder, clock.nowMs(), writer, number);
    try {
      const { bytes, index } = await packSegment(rollouts);
      const put = async (target: string, content: Uint8Array) => {
        const attempt = () => store.put(target, content);
        await retrying({ clock, random }, retryPolicies.trajectory, attempt, { hurry: giveUp });
        onWritten(content.length);
      };
      await put(name, bytes);
      await put(indexOf(name), index);
    } catch (error) {
      onDropped([...rollouts.values()].reduce((sum, lines) => sum + lines.length, 0));
      log.error('trajectories could not be stored', {
        place: store.place,
        segment: name,
        error: String(error),
      });
    }
  };
}
