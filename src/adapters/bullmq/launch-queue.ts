import { Queue } from 'bullmq';
import type { JobsOptions } from 'bullmq';
import { Failure } from '../../failure/failure.ts';
import type { LaunchQueue } from '../../ports/launch-queue.ts';
import type { Random } from '../../ports/random.ts';
import { offeringConnection } from './connection.ts';
import type { RedisAddress } from './connection.ts';
import { freeSlots } from './slots.ts';
import { ticketPlace } from './tickets.ts';
import type { TicketJob } from './tickets.ts';
import { workTickets } from './worker.ts';

export type LaunchQueueOptions = {
  readonly redis: RedisAddress;
  readonly fleet: string;
  /** Most tickets that may wait or run; the fleet's start budget. */
  readonly max: number;
  readonly random: Random;
  /** Hears of errors of the connections, which mend themselves. */
  readonly onError: (error: Error) => void;
};

/** Waiting, running, and between two tries: all states in which a slot is taken. */
const takenStates = ['wait', 'active', 'delayed', 'prioritized'] as const;

/**
 * A ticket whose worker stopped goes to another at once: the short pause only keeps a worker that is stopping from
 * taking it back. After ten tries its reservation is long overdue, and its slot was given back by fleet state.
 */
const jobOptions = {
  attempts: 10,
  backoff: { type: 'fixed', delay: 200 },
  removeOnComplete: true,
  removeOnFail: true,
} as const satisfies JobsOptions;

/**
 * Blank tickets as BullMQ jobs. A job's id is the number of a slot below `max`, and BullMQ ignores an id that it already
 * has: so any number of controllers may offer at the same time, and the queue is never longer than `max`.
 */
export function createLaunchQueue(options: LaunchQueueOptions): LaunchQueue {
  const place = ticketPlace(options.fleet);
  const queue = new Queue<TicketJob>(place.queue, {
    prefix: place.prefix,
    connection: offeringConnection(options.redis),
    // Nobody reads the queue's event stream; a short one costs nothing.
    streams: { events: { maxLen: 100 } },
  });
  queue.on('error', options.onError);

  return {
    offer: (count) => classified(() => offer(queue, Math.min(count, options.max), options)),
    depth: () => classified(() => queue.getJobCountByTypes(...takenStates)),
    work: (concurrency, handle, signal) => workTickets({ ...options, place, concurrency }, handle, signal),
    close: () => queue.close(),
  };
}

async function offer(queue: Queue<TicketJob>, count: number, options: LaunchQueueOptions): Promise<void> {
  const taken = await queue.getRanges([...takenStates], 0, options.max);
  const slots = freeSlots(taken, count, options.max);
  if (slots.length === 0) return;
  await queue.addBulk(
    slots.map((jobId) => ({
      name: 'launch',
      data: { ticket: `${jobId}-${options.random.text(ticketLength)}` },
      opts: { ...jobOptions, jobId },
    })),
  );
}

/** Unique among the tickets of the minutes for which fleet state remembers one. */
const ticketLength = 12;

async function classified<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Failure('state_unavailable', `the launch queue did not answer: ${reason}`, { cause: thrown });
  }
}
