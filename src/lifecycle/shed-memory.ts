import type { FleetMemory, Leftover } from '../ports/fleet/memory.ts';
import type { Log } from '../ports/log.ts';

/** From here on room is made: at the limit Redis refuses every write, and the fleet stands still. */
const highShare = 0.8;
/** Down to here, so that the next pass does not begin at once. */
const lowShare = 0.75;

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/**
 * What goes, in this order, by the life that it has left. Summaries of calls serve reports and go first, the oldest
 * before all; those of the last 40 minutes still tell a repeat from a new call, and outlive the answers.
 */
const steps: readonly { readonly leftover: Leftover; readonly withinMs: number }[] = [
  { leftover: 'summaries', withinMs: 2 * dayMs },
  { leftover: 'summaries', withinMs: 4 * dayMs },
  { leftover: 'summaries', withinMs: 6 * dayMs },
  { leftover: 'summaries', withinMs: 7 * dayMs - 40 * minuteMs },
  { leftover: 'answers', withinMs: 20 * minuteMs },
  { leftover: 'answers', withinMs: 40 * minuteMs },
  { leftover: 'summaries', withinMs: 7 * dayMs },
];

/**
 * Makes room in fleet state when four fifths of it are used, and says so. Only rollouts that are over lose anything: a
 * repeat of theirs is told `answer_expired` or `rollout_closed`, and nothing ever runs again for it.
 */
export async function shedMemory(memory: FleetMemory, log: Log): Promise<void> {
  const { usedBytes, limitBytes } = await memory.usage();
  if (limitBytes === null || usedBytes < highShare * limitBytes) return;
  const forgotten = { summaries: 0, answers: 0 };
  for (const { leftover, withinMs } of steps) {
    if ((await memory.usage()).usedBytes <= lowShare * limitBytes) break;
    forgotten[leftover] += await memory.forget(leftover, withinMs, lowShare * limitBytes);
  }
  tell(log, usedBytes, (await memory.usage()).usedBytes, limitBytes, forgotten);
}

function tell(
  log: Log,
  beforeBytes: number,
  afterBytes: number,
  limitBytes: number,
  { summaries, answers }: Readonly<Record<Leftover, number>>,
): void {
  const fields = {
    before_bytes: beforeBytes,
    after_bytes: afterBytes,
    limit_bytes: limitBytes,
    summaries,
    answers,
  };
  if (afterBytes < highShare * limitBytes)
    return log.warn('Redis was four fifths full: what closed rollouts had left was forgotten early', fields);
  log.error(
    'Redis is four fifths full and closed rollouts have nothing left to forget: raise its maxmemory, at the limit the fleet stands still',
    fields,
  );
}
