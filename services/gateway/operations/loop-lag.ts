import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * How late this process' own event loop runs. A gateway that is late must be seen as late: its own delay is never a
 * sandbox's failure.
 */
export type LoopLag = {
  /** Over the time since the last reading; milliseconds. */
  read(): { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
  stop(): void;
};

/**
 * Each look wakes the process, fifty in a second were a third of what an idle gateway costs. A lag that matters lasts, or
 * comes again, and meets one of ten.
 */
const resolutionMs = 100;
const nanosecondsPerMs = 1e6;

export function measureLoopLag(): LoopLag {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  histogram.enable();
  // The histogram counts its own timer's interval as delay.
  const ms = (nanoseconds: number) => Math.max(0, nanoseconds / nanosecondsPerMs - resolutionMs);
  const read = () => {
    const empty = histogram.count === 0;
    const lag = {
      p50Ms: empty ? 0 : ms(histogram.percentile(50)),
      p99Ms: empty ? 0 : ms(histogram.percentile(99)),
      maxMs: empty ? 0 : ms(histogram.max),
    };
    histogram.reset();
    return lag;
  };
  return { read, stop: () => histogram.disable() };
}
