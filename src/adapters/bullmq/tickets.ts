import type { Job } from 'bullmq';
import type { LaunchReservation } from '#src/ports/fleet/pool.ts';
import type { Ticket } from '#src/ports/launch-queue.ts';

/** What a job tells of its launch: nothing until its worker has reserved. `attempt`: how often it was handed out then. */
export type TicketJob = Partial<LaunchReservation & { readonly attempt: number }>;

/** Where the tickets of one fleet are in Redis; the same on the side that offers them and on the side that works. */
export type TicketPlace = { readonly queue: string; readonly prefix: string };

export const ticketPlace = (fleet: string): TicketPlace => ({
  queue: 'launches',
  prefix: `corral-queue:{${fleet}}`,
});

/**
 * A step that lasts so long is told while it lasts; of those that pass sooner only the last is. So a launch from a warm
 * node costs Redis two commands more, and one that pulls an image for minutes shows where it stands.
 */
const worthTellingMs = 1_000;

/**
 * Tells in a job what its launch is for and how far it is. Nobody waits for it: commands of one connection keep their
 * order, so it is all there before the job's end is. A telling that fails is only reported.
 */
export function tellInJob(
  job: Job<TicketJob>,
  onError: (error: Error) => void,
): { readonly ticket: Ticket; end(): void } {
  const reported = (work: Promise<void>) => void work.catch(onError);
  let step: string | null = null;
  let timer: NodeJS.Timeout | undefined;
  const tellStep = () => {
    clearTimeout(timer);
    if (step !== null) reported(job.updateProgress({ step }));
    step = null;
  };
  return {
    ticket: {
      name: job.id ?? '',
      offeredAtMs: job.timestamp,
      reserved: ({ sandbox, template, reason, run }) =>
        reported(job.updateData({ sandbox, template, reason, run, attempt: job.attemptsStarted })),
      stands: (now) => {
        clearTimeout(timer);
        step = now;
        timer = setTimeout(tellStep, worthTellingMs);
      },
    },
    end: tellStep,
  };
}
