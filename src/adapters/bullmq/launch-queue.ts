import { type Job, type JobsOptions, Queue, UnrecoverableError, Worker } from 'bullmq';
import { Failure } from '#src/failure/failure.ts';
import {
  type HandleTicket,
  type LaunchQueue,
  type QueueCounts,
  queueStates,
} from '#src/ports/launch-queue.ts';
import type { Random } from '#src/ports/random.ts';
import { offeringConnection, workingConnection } from './connection.ts';
import { noFiles, type RedisAccess, type RedisFiles, silenceMs } from '../redis-client/client.ts';
import { tellInJob, type TicketJob, type TicketPlace, ticketPlace } from './tickets.ts';

export type LaunchQueueOptions = {
  /** As in `connectFleetState`. */
  readonly redis: string;
  readonly files?: RedisFiles;
  readonly fleet: string;
  /** Most tickets that may wait or run; the fleet's start budget. */
  readonly max: number;
  readonly random: Random;
  /** Hears of errors of the connections, which fix themselves. */
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
  // The failure's code and words are told; where in our code it was thrown helps nobody.
  stackTraceLimit: 0,
} as const satisfies JobsOptions;

/**
 * Blank tickets as BullMQ jobs. Each is for one of `max` slots, and BullMQ adds none for a slot that a job has which waits
 * or runs: so any number of controllers may offer at the same time, and the queue is never longer than `max`. What BullMQ
 * decides and what fleet state does is told in docs/decisions.
 */
export function createLaunchQueue(options: LaunchQueueOptions): LaunchQueue {
  const place = ticketPlace(options.fleet);
  const access = { url: options.redis, files: options.files ?? noFiles };
  const connection = offeringConnection(access);
  const queue = new Queue<TicketJob>(place.queue, {
    prefix: place.prefix,
    connection,
    // It would be asked once, and an answer that is lost then would make every later offer fail. Fleet state looks at it.
    skipVersionCheck: true,
    // Nobody reads the queue's event stream; a short one costs nothing.
    streams: { events: { maxLen: 100 } },
  });
  queue.on('error', options.onError);
  // The fleet's start budget, for all workers together; said with every connection, for a Redis that was emptied has forgotten it.
  queue.getBackend().on('ready', () => void queue.setGlobalConcurrency(options.max).catch(options.onError));

  return {
    offer: (count) => classified(() => offer(queue, Math.min(count, options.max), options)),
    counts: () => classified(() => countsOf(queue)),
    depth: () => classified(() => queue.getJobCountByTypes(...takenStates)),
    work: (concurrency, handle, signal) =>
      workTickets({ ...options, access, place, concurrency }, handle, signal),
    close: async () => {
      await queue.close();
      connection.disconnect();
    },
  };
}

async function countsOf(queue: Queue<TicketJob>): Promise<QueueCounts> {
  const counts = await queue.getJobCounts(...queueStates);
  const { wait = 0, active = 0, delayed = 0, prioritized = 0, failed = 0, completed = 0 } = counts;
  return { wait, active, delayed, prioritized, failed, completed };
}

async function offer(queue: Queue<TicketJob>, count: number, options: LaunchQueueOptions): Promise<void> {
  const taken = await queue.getRanges([...takenStates], 0, options.max);
  const slots = freeSlots(taken, count, options.max);
  if (slots.length === 0) return;
  await queue.addBulk(
    slots.map((slot) => ({
      name: 'launch',
      data: {},
      opts: {
        ...jobOptions,
        jobId: `${slot}-${options.random.text(uniqueLength)}`,
        deduplication: { id: slot },
      },
    })),
  );
}

/** Unique among the jobs that are kept, and the tickets of the minutes for which fleet state remembers one. */
const uniqueLength = 12;

async function classified<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Failure('state_unavailable', `the launch queue did not answer: ${reason}`, { cause: thrown });
  }
}

/** BullMQ refuses ids that are integers or contain a colon. */
const slotName = (number: number) => `slot-${number}`;

/** The slot of a ticket that is named after it. */
const slotOf = (ticket: string): string => /^slot-\d+/.exec(ticket)?.[0] ?? ticket;

/**
 * The slots to add so that `count` tickets wait or run, given those that do now: the lowest free ones, so that two
 * controllers that look at the same moment choose the same slots and fill them once.
 */
export function freeSlots(taken: readonly string[], count: number, max: number): readonly string[] {
  const busy = new Set(taken.map(slotOf));
  const missing = Math.max(0, Math.min(count, max) - busy.size);
  const names = Array.from({ length: max }, (_, number) => slotName(number));
  return names.filter((name) => !busy.has(name)).slice(0, missing);
}

type WorkOptions = {
  readonly access: RedisAccess;
  readonly place: TicketPlace;
  readonly concurrency: number;
  readonly onError: (error: Error) => void;
};

/**
 * How soon a dead worker's tickets go to another: between lock and lock + check. The same in every worker, because
 * the one that checked last sets when the next check may be. Twice-run tickets are harmless (their reservation is the
 * same), so the lock may be short; it is renewed at half its time. Together they leave room within the ten seconds after
 * which a fleet works again, also with a ticket that was on its way when the connection broke.
 */
const lockDurationMs = 5_000;
const stalledCheckMs = 2_000;
/** Deaths of workers that one ticket survives; a ticket that kills its workers must end some time. */
const maxStalls = 5;
/** Seconds of one blocking wait for a ticket: half of the silence after which a connection is given up for dead. */
const idleWaitS = silenceMs / 2_000;
/** A worker whose Redis failed asks again; what it waits for otherwise is longer than anybody may be away. */
const askAgainMs = 1_000;

/**
 * Launches that are over stay for whoever looks at the queue: a day of a busy fleet's is more than anybody reads, and
 * failures are looked for later. A job is about a kilobyte.
 */
const keptReady = { age: 24 * 3_600, count: 1_000 };
const keptFailed = { age: 7 * 24 * 3_600, count: 1_000 };
/** A provider's or a command's words may be long; the controller's log has them whole. */
const reasonMaxChars = 500;

/** Works off tickets until the signal aborts; resolves when the running ones are done and the connections are closed. */
async function workTickets(options: WorkOptions, handle: HandleTicket, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const take = async (job: Job<TicketJob>) => {
    // It may have been fetched while we were told to stop: another worker gets it.
    signal.throwIfAborted();
    return workOff(job, handle, options.onError, signal);
  };
  const worker = new Worker<TicketJob>(options.place.queue, take, {
    prefix: options.place.prefix,
    connection: workingConnection(options.access),
    concurrency: options.concurrency,
    lockDuration: lockDurationMs,
    stalledInterval: stalledCheckMs,
    maxStalledCount: maxStalls,
    drainDelay: idleWaitS,
    removeOnComplete: keptReady,
    removeOnFail: keptFailed,
    runRetryDelay: askAgainMs,
  });
  worker.on('error', options.onError);
  await aborted(signal);
  await worker.close();
}

/** One ticket. What it throws lets BullMQ hand it out again, but for a failure that is written down: that is its end. */
async function workOff(
  job: Job<TicketJob>,
  handle: HandleTicket,
  onError: (error: Error) => void,
  signal: AbortSignal,
): Promise<{ readonly rollout: string | null } | null> {
  const telling = tellInJob(job, onError);
  try {
    const end = await handle(telling.ticket, signal);
    if (end.kind === 'failed')
      throw new UnrecoverableError(`${end.code}: ${end.message}`.slice(0, reasonMaxChars));
    if (end.kind === 'ready') {
      telling.ticket.stands('ready');
      return { rollout: end.rollout };
    }
    // Nothing was launched, so there is nothing to look at.
    job.opts.removeOnComplete = true;
    return null;
  } finally {
    telling.end();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
