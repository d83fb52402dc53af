import { Worker } from 'bullmq';
import type { Job } from 'bullmq';
import type { LaunchQueue } from '../../ports/launch-queue.ts';
import { workingConnection } from './connection.ts';
import type { RedisAddress } from './connection.ts';
import type { TicketJob, TicketPlace } from './tickets.ts';

export type WorkOptions = {
  readonly redis: RedisAddress;
  readonly place: TicketPlace;
  readonly concurrency: number;
  readonly onError: (error: Error) => void;
};

/**
 * How soon a dead worker's tickets go to another: between lock and lock + check. The same in every worker, because
 * the one that checked last sets when the next check may be. Twice-run tickets are harmless (their reservation is the
 * same), so the lock may be short; it is renewed at half its time.
 */
const lockDurationMs = 10_000;
const stalledCheckMs = 5_000;
/** Deaths of workers that one ticket survives; a ticket that kills its workers must end some time. */
const maxStalls = 5;
/** Seconds of one blocking wait for a ticket: only how often an idle worker looks up. */
const idleWaitS = 5;

/** Works off tickets until the signal aborts; resolves when the running ones are done and the connections are closed. */
export async function workTickets(
  options: WorkOptions,
  handle: Parameters<LaunchQueue['work']>[1],
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  const take = async (job: Job<TicketJob>) => {
    // It may have been fetched while we were told to stop: another worker gets it.
    signal.throwIfAborted();
    await handle(job.data.ticket, signal);
  };
  const worker = new Worker<TicketJob>(options.place.queue, take, {
    prefix: options.place.prefix,
    connection: workingConnection(options.redis),
    concurrency: options.concurrency,
    lockDuration: lockDurationMs,
    stalledInterval: stalledCheckMs,
    maxStalledCount: maxStalls,
    drainDelay: idleWaitS,
  });
  worker.on('error', options.onError);
  await aborted(signal);
  await worker.close();
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
