import type { FleetMemory, Leftover, LifeLeft } from '../ports/fleet/server.ts';
import type { Log } from '../ports/log.ts';

/** From here on room is made: at the limit Redis refuses every write, and the fleet stands still. */
const highShare = 0.8;
/** Down to here, so that the next pass does not begin at once. */
const lowShare = 0.75;
/** Where nothing is left to forget, the rest is for the calls and ends of rollouts that are open. */
const fullShare = 0.9;
/** Outlives two passes that come late; nobody has to take it back. */
const refusedForMs = 30_000;

const minuteMs = 60_000;
/** For as long a request may be repeated after its rollout's end, and leftovers are kept. */
const repeatsMs = 40 * minuteMs;

/**
 * What goes, in this order, by the life that it has left. Details are for people, who have the event log, too. Then what repeats get, the
 * oldest first. Whatever is gone, the rollout's line tells a repeat from a new call.
 */
const steps: readonly { readonly leftover: Leftover; readonly left: LifeLeft }[] = [
  { leftover: 'details', left: { fromMs: 0, toMs: repeatsMs } },
  { leftover: 'summaries', left: { fromMs: 0, toMs: repeatsMs / 2 } },
  { leftover: 'summaries', left: { fromMs: 0, toMs: repeatsMs } },
];

type Forgotten = Readonly<Record<Leftover, number>>;

/**
 * Makes room in fleet state when four fifths of it are used, and says so. Only rollouts that are over lose anything, and
 * never their line: a repeat of theirs is told `answer_expired` or `rollout_closed`, and nothing ever runs again for it. Where that
 * makes no room, nothing new is opened.
 */
export async function shedMemory(memory: FleetMemory, log: Log): Promise<void> {
  const { usedBytes, limitBytes } = await memory.usage();
  if (limitBytes === null || usedBytes < highShare * limitBytes) return;
  const forgotten = { details: 0, summaries: 0 };
  for (const { leftover, left } of steps) {
    if ((await memory.usage()).usedBytes <= lowShare * limitBytes) break;
    forgotten[leftover] += await memory.forget(leftover, left, lowShare * limitBytes);
  }
  const after = (await memory.usage()).usedBytes;
  tell(log, usedBytes, after, limitBytes, forgotten);
  if (after >= fullShare * limitBytes) await memory.refuseOpens(refusedForMs);
}

function tell(
  log: Log,
  beforeBytes: number,
  afterBytes: number,
  limitBytes: number,
  forgotten: Forgotten,
): void {
  const fields = {
    before_bytes: beforeBytes,
    after_bytes: afterBytes,
    limit_bytes: limitBytes,
    ...forgotten,
  };
  if (afterBytes < highShare * limitBytes)
    return log.warn('Redis was four fifths full: what closed rollouts had left was forgotten early', fields);
  const opens = afterBytes < fullShare * limitBytes ? '' : ', and no rollout is opened';
  log.error(
    `Redis is four fifths full and closed rollouts have nothing left to forget${opens}: raise its maxmemory, at the limit the fleet stands still`,
    fields,
  );
}
