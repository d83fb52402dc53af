import { type Job, UnrecoverableError, Worker } from 'bullmq';
import type { HandleTicket } from '#src/ports/launch-queue.ts';
import { type RedisAccess, silenceMs } from '../redis-client/client.ts';
import { workingConnection } from './connection.ts';
import { tellInJob, type TicketJob, type TicketPlace } from './tickets.ts';

export type WorkOptions = {
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
export async function workTickets(
  options: WorkOptions,
  handle: HandleTicket,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  const take = async (job: Job<TicketJob>) => {
    // It may have been fetched while we were told to stop: another worker gets it.
    signal.throwIfAborted();
    return carryOut(job, handle, options.onError, signal);
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
async function carryOut(
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
