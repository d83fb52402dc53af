import { type Job, Queue } from 'bullmq';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { Launch } from '#src/ports/fleet/pool.ts';
import type { LaunchBoard, ShownLaunch } from '#src/ports/launch-queue.ts';
import { offeringConnection } from './connection.ts';
import { launchPlace, type LaunchQueueOptions } from './launch-queue.ts';
import { noFiles } from '../redis-client/client.ts';

/** What is kept of launches, for a process that shows them and runs none. It connects with the first look. */
export function createLaunchBoard({ redis, files, fleet, onError }: LaunchQueueOptions): LaunchBoard {
  const { queue: name, prefix } = launchPlace(fleet);
  const connect = () => {
    const connection = offeringConnection({ url: redis, files: files ?? noFiles });
    const only = { skipVersionCheck: true, skipMetasUpdate: true };
    const queue = new Queue<Launch, Result>(name, { prefix, connection, ...only });
    queue.on('error', onError);
    return { queue, connection };
  };
  let opened: ReturnType<typeof connect> | null = null;
  return {
    recent: async (most) => {
      const { queue } = (opened ??= connect());
      const jobs = await queue.getJobs(['active', 'wait', 'delayed', 'completed', 'failed'], 0, most - 1);
      const newestFirst = jobs.toSorted((one, other) => other.timestamp - one.timestamp);
      return newestFirst.slice(0, most).map(showJob);
    },
    close: async () => {
      await opened?.queue.close();
      opened?.connection.disconnect();
    },
  };
}

type Result = { readonly rollout: RolloutKey | null } | null;

function showJob(job: Job<Launch, Result>): ShownLaunch {
  const { data: launch, timestamp, processedOn, finishedOn, failedReason, returnvalue } = job;
  if (finishedOn === undefined)
    return {
      launch,
      state: processedOn === undefined ? 'waiting' : 'running',
      atMs: processedOn ?? timestamp,
    };
  const tookMs = finishedOn - timestamp;
  return failedReason
    ? { launch, state: 'failed', atMs: finishedOn, tookMs, failure: failedReason }
    : { launch, state: 'ready', atMs: finishedOn, tookMs, rollout: returnvalue?.rollout ?? null };
}
