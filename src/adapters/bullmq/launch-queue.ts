import { type Job, type JobsOptions, Queue, UnrecoverableError, Worker } from 'bullmq';
import { Failure } from '#src/failure/failure.ts';
import type { Launch } from '#src/ports/fleet/pool.ts';
import {
  type HandleLaunch,
  type LaunchJob,
  type LaunchQueue,
  type QueueCounts,
  queueStates,
} from '#src/ports/launch-queue.ts';
import { offeringConnection, workingConnection } from './connection.ts';
import { noFiles, type RedisAccess, type RedisFiles, silenceMs } from '../redis-client/client.ts';
import { showSteps } from './show-steps.ts';

export type LaunchQueueOptions = {
  /** As in `connectFleetState`. */
  readonly redis: string;
  readonly files?: RedisFiles;
  readonly fleet: string;
  /** Hears of errors of the connections, which fix themselves. */
  readonly onError: (error: Error) => void;
};

/** Where the jobs of one fleet are in Redis; the same on the side that adds them and on the side that works. */
export const launchPlace = (fleet: string) => ({ queue: 'starts', prefix: `corral-queue:{${fleet}}` });

/** `isAgain`: its start had a job before. It may have ended since fleet state was asked, so the worker looks first. */
type JobData = Launch & { readonly isAgain?: true };

/** All states in which a job runs or will run. */
const liveStates = ['wait', 'active', 'delayed', 'prioritized'] as const;

/**
 * A launch whose worker stopped goes to another at once: the short pause only keeps a worker that is stopping from
 * taking it back. A start that failed is not tried again.
 */
const jobOptions = {
  attempts: 10,
  backoff: { type: 'fixed', delay: 200 },
  // The failure's code and words are shown; a stack of this code helps no reader.
  stackTraceLimit: 0,
} as const satisfies JobsOptions;

/** Launches as BullMQ jobs under the ids of their sandboxes. docs/decisions says what BullMQ decides and what fleet state does. */
export function createLaunchQueue(options: LaunchQueueOptions): LaunchQueue {
  const { queue: name, prefix } = launchPlace(options.fleet);
  const access = { url: options.redis, files: options.files ?? noFiles };
  const connection = offeringConnection(access);
  const queue = new Queue<JobData>(name, {
    prefix,
    connection,
    // It would be asked once, and an answer that is lost then would make every later command fail. Fleet state looks at it.
    skipVersionCheck: true,
    // No process reads the queue's event stream; a short one costs nothing.
    streams: { events: { maxLen: 100 } },
  });
  queue.on('error', options.onError);
  const add = async (jobs: readonly JobData[]) => {
    if (jobs.length > 0) await queue.addBulk(jobs.map(jobOf));
  };

  return {
    add: (launches) => classified(() => add(launches)),
    addMissing: (starts) => classified(async () => add(await clearFor(starts, queue))),
    counts: () => classified(() => countsOf(queue)),
    work: (concurrency, handle, signal) => workLaunches({ ...options, access, concurrency }, handle, signal),
    close: async () => {
      await queue.close();
      connection.disconnect();
    },
  };
}

const jobOf = (data: JobData) => ({
  name: data.environment,
  data,
  opts: { ...jobOptions, jobId: data.sandbox },
});

async function countsOf(queue: Queue<JobData>): Promise<QueueCounts> {
  const counts = await queue.getJobCounts(...queueStates);
  const { wait = 0, active = 0, delayed = 0, prioritized = 0, failed = 0, completed = 0 } = counts;
  return { wait, active, delayed, prioritized, failed, completed };
}

/**
 * Those of the starts for which no job waits or runs, once what is left of their earlier jobs is removed: BullMQ answers an
 * `add` under the id of a kept job with that job, and never runs it. A job that a worker has is locked and stays.
 */
async function clearFor(starts: readonly Launch[], queue: Queue<JobData>): Promise<JobData[]> {
  if (starts.length === 0) return [];
  // Without an end it returns two of each state.
  const live = new Set(await queue.getRanges([...liveStates], 0, -1));
  const missing = starts.filter(({ sandbox }) => !live.has(sandbox));
  const cleared = await Promise.all(
    missing.map(async (launch) =>
      (await queue.remove(launch.sandbox)) === locked ? [] : [{ ...launch, isAgain: true as const }],
    ),
  );
  return cleared.flat();
}

/** What BullMQ replies if a worker has the job that is to be removed. */
const locked = 0;

async function classified<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Failure('state_unavailable', `the launch queue did not answer: ${reason}`, { cause: thrown });
  }
}

type WorkOptions = {
  readonly access: RedisAccess;
  readonly fleet: string;
  readonly concurrency: number;
  readonly onError: (error: Error) => void;
};

/**
 * How soon a dead worker's launches go to another: between lock and lock + check. The same in every worker, because
 * the one that checked last sets when the next check may be. A launch that runs twice is harmless (it is the same sandbox, and
 * only the first end counts), so the lock may be short; it is renewed at half its time. Together they leave room within the ten
 * seconds after which a fleet works again, also with a launch that was on its way when the connection broke.
 */
const lockDurationMs = 5_000;
const stalledCheckMs = 2_000;
/** Deaths of workers that one job survives. Its start gets another job then, until its time is over. */
const maxStalls = 5;
/** A launch that waited so long may be over: its slot may have been reclaimed. */
const longWaitMs = 5_000;
/** Seconds of one blocking wait for a launch: half of the silence after which a connection is given up for dead. */
const idleWaitS = silenceMs / 2_000;
/** A worker whose Redis failed asks again; what it waits for otherwise is longer than anybody may be away. */
const askAgainMs = 1_000;

/**
 * Launches that are over stay for people who look at the queue: a day of a busy fleet's is more than anybody reads, and
 * failures are looked for later. A job is about two kilobytes.
 */
const keptReady = { age: 24 * 3_600, count: 1_000 };
const keptFailed = { age: 7 * 24 * 3_600, count: 1_000 };
/** A provider's or a command's words may be long; the controller's log has them whole. */
const reasonMaxChars = 500;

/** Runs launches until the signal aborts; resolves when the running ones are done and the connections are closed. */
async function workLaunches(options: WorkOptions, handle: HandleLaunch, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const take = async (job: Job<JobData>) => {
    // It may have been fetched while this worker was stopping: another worker gets it.
    signal.throwIfAborted();
    return runJob(job, handle, options.onError, signal);
  };
  const { queue, prefix } = launchPlace(options.fleet);
  const worker = new Worker<JobData>(queue, take, {
    prefix,
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

/** One launch. What it throws lets BullMQ hand it out again, but for a failure that is written down: that is its end. */
async function runJob(
  job: Job<JobData>,
  handle: HandleLaunch,
  onError: (error: Error) => void,
  signal: AbortSignal,
): Promise<{ readonly rollout: string | null } | null> {
  const steps = showSteps(job, onError);
  const end = await handle(launchJobOf(job, steps.stands), signal).finally(steps.stop);
  switch (end.kind) {
    case 'failed':
      steps.showLast();
      throw new UnrecoverableError(`${end.code}: ${end.message}`.slice(0, reasonMaxChars));
    case 'ready':
      return { rollout: end.rollout };
    case 'over':
      // This job started nothing, so there is nothing to look at.
      job.opts.removeOnComplete = true;
      return null;
  }
}

function launchJobOf(job: Job<JobData>, stands: LaunchJob['stands']): LaunchJob {
  const { timestamp: addedAtMs, attemptsStarted, processedOn = addedAtMs } = job;
  const { isAgain = false, ...launch } = job.data;
  return {
    launch,
    addedAtMs,
    mayBeOver: isAgain || attemptsStarted > 1 || processedOn - addedAtMs > longWaitMs,
    stands,
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
