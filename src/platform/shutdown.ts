import type { Log } from '../ports/log.ts';

/**
 * How a process ends: running → stopping (first SIGTERM or SIGINT, or the parent's end of stdin closed) → exited.
 * A second signal while stopping ends it at once, or hurries it, and so does the grace: an operator's patience is a bound too.
 */
export type ShutdownOptions = {
  readonly log: Log;
  /** How long the handler may take before the process ends anyway. */
  readonly graceMs: number;
  /** How long it may take after a second signal, which aborts `hurry`; a third ends it. Default 0: the second one does. */
  readonly hurriedMs?: number;
  /** Stdin is a pipe from a supervisor that never writes: its closing means the supervisor is dead. */
  readonly exitWithParent: boolean;
};

/** Exit code of a process that a second signal cut short: 128 + SIGINT, as shells say it. */
const interrupted = 130;

type Stop = (reason: string, hurry: AbortSignal) => Promise<void>;

/** Calls `stop` once, at the first reason to end, and exits when it has settled: 0, or 1 if it failed or took too long. */
export function onShutdown(stop: Stop, options: ShutdownOptions): void {
  const hurry = new AbortController();
  let stopping = false;
  const begin = (reason: string) => {
    stopping = true;
    options.log.info('stopping', { reason });
    setTimeout(() => giveUp(options), options.graceMs).unref();
    void stop(reason, hurry.signal).then(
      () => process.exit(hurry.signal.aborted ? interrupted : 0),
      (thrown: unknown) => {
        options.log.error('stopping failed', { error: String(thrown) });
        process.exit(1);
      },
    );
  };
  const again = () => {
    if (hurry.signal.aborted || options.hurriedMs === undefined) process.exit(interrupted);
    setTimeout(() => process.exit(interrupted), options.hurriedMs).unref();
    hurry.abort();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => (stopping ? again() : begin(signal)));
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
