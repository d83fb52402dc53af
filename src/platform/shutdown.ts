import type { Log } from '../ports/log.ts';

/**
 * How a process ends: running → stopping (first SIGTERM or SIGINT, or the parent's end of stdin closed) → exited.
 * A second signal while stopping ends it at once, and so does the grace: an operator's patience is a bound too.
 */
export type ShutdownOptions = {
  readonly log: Log;
  /** How long the handler may take before the process ends anyway. */
  readonly graceMs: number;
  /** Stdin is a pipe from a supervisor that never writes: its closing means the supervisor is dead. */
  readonly exitWithParent: boolean;
};

/** Exit code of a process that a second signal cut short: 128 + SIGINT, as shells say it. */
const interrupted = 130;

/** Calls `stop` once, at the first reason to end, and exits when it has settled: 0, or 1 if it failed or took too long. */
export function onShutdown(stop: (reason: string) => Promise<void>, options: ShutdownOptions): void {
  let stopping = false;
  const begin = (reason: string) => {
    stopping = true;
    options.log.info('stopping', { reason });
    setTimeout(() => giveUp(options), options.graceMs).unref();
    void stop(reason).then(
      () => process.exit(0),
      (thrown: unknown) => {
        options.log.error('stopping failed', { error: String(thrown) });
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => (stopping ? process.exit(interrupted) : begin(signal)));
  }
  if (options.exitWithParent) onStdinClosed(() => !stopping && begin('parent gone'));
}

function giveUp({ log, graceMs }: ShutdownOptions): void {
  log.error('stopping took too long', { graceMs });
  process.exit(1);
}

function onStdinClosed(closed: () => void): void {
  process.stdin.on('end', closed);
  process.stdin.on('error', closed);
  process.stdin.resume();
}
