import { gradeMs } from '../environment.ts';
import { worldBeganMs } from '../engine/process.ts';
import type { World } from '../world.ts';
import type { Invariant } from './inspector.ts';

/** Who lost the answer asks again within a second, and that answer may be slow or lost as well. */
const askedAgainMs = 8_000;

/** A turn that nobody runs is waited for until its time is up. */
export const turnsAreRun: Readonly<Record<string, Invariant>> = {
  'who was given a turn of the grader knows of it': (world) => {
    for (const { key, turn, score } of world.redis.scripts.state.rollouts.values()) {
      if (turn === null || score !== '' || world.redis.replacedMs.length > 0) continue;
      const taken = world.turns.get(turn.by);
      if (taken === undefined || taken.heard || !taken.asker.alive) continue;
      const takenMs = turn.untilMs - gradeMs - worldBeganMs;
      const sinceMs = world.scheduler.nowMs - Math.max(takenMs, lastOutageMs(world));
      if (sinceMs > askedAgainMs) return `${key}: ${taken.asker.name} has not heard of it for ${sinceMs} ms`;
    }
    return null;
  },
};

const lastOutageMs = ({ redis }: World): number =>
  Math.max(0, ...redis.outages.map(({ untilMs }) => untilMs));
