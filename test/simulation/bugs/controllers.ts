import type { ControllerPorts } from '#services/controller/ports.ts';
import type { Planted } from '../world.ts';

/** A Redis that has forgotten is made the fleet's without what the sandboxes could have told. */
export function writesNothingBack(ports: ControllerPorts): ControllerPorts {
  const recovery: ControllerPorts['recovery'] = {
    ...ports.recovery,
    restoreRollout: async () => 'live',
    markUnsure: async () => undefined,
  };
  return { ...ports, recovery };
}

/** Whatever ended a sandbox, what ran in it is said to have used up its memory. */
export function blamesThePolicy(ports: ControllerPorts): ControllerPorts {
  const { lifecycle } = ports;
  const lose: typeof lifecycle.lose = (sandbox, boot, _cause, evidence) =>
    lifecycle.lose(sandbox, boot, 'out_of_memory', evidence);
  return { ...ports, lifecycle: { ...lifecycle, lose } };
}

/** Whatever ended sandboxd, a command that has its id is said to have killed it. */
export const blamesForCrashes: Planted = {
  actor: 'honest_fault',
  controller: ({ lifecycle, ...ports }) => {
    const lose: typeof lifecycle.lose = (sandbox, boot, cause, evidence) =>
      lifecycle.lose(sandbox, boot, cause === 'sandbox_exited' ? 'sandboxd_killed' : cause, {
        ...evidence,
        signal: 'SIGKILL',
      });
    return { ...ports, lifecycle: { ...lifecycle, lose } };
  },
};

/** No controller looks for starts whose job was never added. */
export function looksForNoStarts(ports: ControllerPorts): ControllerPorts {
  return { ...ports, pool: { ...ports.pool, starts: async () => [] } };
}

/** A start whose job is over is added as any other, which BullMQ answers with the job that is kept. */
export function addsWhatIsKept(ports: ControllerPorts): ControllerPorts {
  const { queue } = ports;
  return {
    ...ports,
    queue: { ...queue, addMissing: (starts) => queue.add(starts) },
  };
}

/** A worker that was silent for longer than its lock ends each launch a second time: the other one has ended it before. */
export const endsLaunchesTwice =
  (how: 'ready' | 'failed') =>
  (ports: ControllerPorts): ControllerPorts => {
    const { pool, queue } = ports;
    const work: typeof queue.work = (concurrency, handle, signal) =>
      queue.work(
        concurrency,
        async (job, stopping) => {
          const end = await handle(job, stopping);
          if (how === 'ready') await handle(job, stopping);
          else await pool.launchFailed(job.launch.sandbox, 'start_timeout', 'it was silent', null);
          return end;
        },
        signal,
      );
    return { ...ports, queue: { ...queue, work } };
  };
