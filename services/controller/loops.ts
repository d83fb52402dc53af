import { asFailure, Failure } from '#src/failure/failure.ts';
import { every } from '#src/platform/every.ts';
import { errorFields } from '#src/platform/logging.ts';
import type { LoopName } from '#src/ports/metrics.ts';
import type { ControllerPorts } from './ports.ts';

export type RunningLoop = {
  readonly poke: () => void;
  /** Whether a step of it has ever succeeded. */
  readonly hasWorked: () => boolean;
};

export type Loops = {
  /** Starts a loop; its errors are logged and counted under its name. */
  run(name: LoopName, intervalMs: number, step: (signal: AbortSignal) => Promise<unknown>): RunningLoop;
  /** Resolves when every loop has ended, after the signal aborted. */
  ended(): Promise<void>;
};

/** The controller's loops, which all end with one signal. */
export function createLoops({ clock, log, metrics }: ControllerPorts, signal: AbortSignal): Loops {
  const ends: Promise<void>[] = [];
  const run: Loops['run'] = (name, intervalMs, step) => {
    let hasWorked = false;
    const onError = (thrown: unknown) => {
      if (isRecovering(thrown)) return log.debug(`${name} waits until fleet state is written back`);
      metrics.loopFailed(name, asFailure(thrown).code);
      log.error(`${name} failed`, errorFields(thrown));
    };
    const loop = every({ intervalMs, clock, signal, onError }, async (signal) => {
      await step(signal);
      hasWorked = true;
    });
    ends.push(loop.done);
    return { poke: loop.poke, hasWorked: () => hasWorked };
  };
  return { run, ended: async () => void (await Promise.all(ends)) };
}

/** Every loop meets it at a first start and after a restart of Redis; only the one that fixes it has something to say. */
function isRecovering(thrown: unknown): boolean {
  return thrown instanceof Failure && thrown.code === 'recovering';
}
