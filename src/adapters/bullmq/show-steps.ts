import type { Job } from 'bullmq';

/**
 * A step that lasts so long is shown while it lasts; of a launch that fails also the last one. So a launch from a warm
 * node costs Redis no command for it, and one that pulls an image for minutes shows where it stands.
 */
const worthShowingMs = 1_000;

type Steps = {
  readonly stands: (step: string) => void;
  readonly stop: () => void;
  readonly showLast: () => void;
};

/**
 * Shows in a job how far its launch is. No launch waits for it: commands of one connection keep their order, so it is all
 * there before the job's end is. A write that fails is only reported.
 */
export function showSteps(job: Pick<Job, 'updateProgress'>, onError: (error: Error) => void): Steps {
  let step: string | null = null;
  let timer: NodeJS.Timeout | undefined;
  const showLast = () => {
    if (step !== null) void job.updateProgress({ step }).catch(onError);
    step = null;
  };
  const stop = () => clearTimeout(timer);
  return {
    stands: (now) => {
      stop();
      step = now;
      timer = setTimeout(showLast, worthShowingMs);
    },
    stop,
    showLast,
  };
}
