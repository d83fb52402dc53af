import { environmentName, sandboxId, templateDigest } from '#src/model/ids.ts';
import type { Launch } from '#src/ports/fleet/pool.ts';
import type { LaunchJob, LaunchQueue } from '#src/ports/launch-queue.ts';

export const fakeLaunch = (sandbox = 'sandbox-1', changes: Partial<Launch> = {}): Launch => ({
  sandbox: sandboxId(sandbox),
  template: templateDigest('template-a'),
  environment: environmentName('shell'),
  reason: 'waiting',
  run: 'lab/run-1',
  ...changes,
});

/** The job of a launch that no reader looks at. */
export const fakeJob = (launch: Launch, changes: Partial<LaunchJob> = {}): LaunchJob => ({
  launch,
  addedAtMs: 0,
  mayBeOver: false,
  stands: () => undefined,
  ...changes,
});

type State = 'wait' | 'active' | 'failed' | 'completed';

/** Hands launches to the workers of this process; a launch whose handler throws waits again, as in a real queue. */
export function createFakeLaunchQueue(): LaunchQueue {
  const states = new Map<string, State>();
  const waiting: LaunchJob[] = [];
  let wake: (() => void) | null = null;

  const push = (job: LaunchJob) => {
    states.set(job.launch.sandbox, 'wait');
    waiting.push(job);
    wake?.();
  };
  const work: LaunchQueue['work'] = async (concurrency, handle, signal) => {
    const stopped = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => stopped.resolve(), { once: true });
    const busy = new Set<Promise<void>>();
    while (!signal.aborted) {
      const changed = Promise.withResolvers<void>();
      wake = () => changed.resolve();
      while (busy.size < concurrency) {
        const job = waiting.shift();
        if (job === undefined) break;
        states.set(job.launch.sandbox, 'active');
        const run = handle(job, signal)
          .then(
            ({ kind }) => void states.set(job.launch.sandbox, kind === 'failed' ? 'failed' : 'completed'),
            () => push({ ...job, mayBeOver: true }),
          )
          .finally(() => {
            busy.delete(run);
            wake?.();
          });
        busy.add(run);
      }
      await Promise.race([changed.promise, stopped.promise]);
    }
    await Promise.all(busy);
  };
  const count = (state: State) => [...states.values()].filter((one) => one === state).length;

  return {
    add: async (launches) => {
      for (const launch of launches) if (!states.has(launch.sandbox)) push(fakeJob(launch));
    },
    addMissing: async (starts) => {
      for (const launch of starts) {
        const state = states.get(launch.sandbox);
        if (state !== 'wait' && state !== 'active') push(fakeJob(launch, { mayBeOver: true }));
      }
    },
    work,
    counts: async () => ({
      wait: count('wait'),
      active: count('active'),
      delayed: 0,
      prioritized: 0,
      failed: count('failed'),
      completed: count('completed'),
    }),
    close: async () => undefined,
  };
}
