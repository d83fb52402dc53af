import type { Clock } from '#src/ports/clock.ts';
import { CommandError } from '../command-error.ts';
import type { LogFile } from './log-file.ts';
import {
  becomeReady,
  type PartExit,
  type PartName,
  type PartProcess,
  type PartSpec,
  startPartProcess,
} from './part-process.ts';
import type { PartRecords } from './part-records.ts';

/*
 * One part of the fleet under watch:
 *
 *   starting ─▶ ready ─▶ died ─▶ starting …     after a delay that grows while it keeps dying
 *   starting ─▶ failed                          the first start only: the fleet does not come up at all
 *   any ─▶ stopped                              `stop` or `kill`; nothing is started afterwards
 */
export type PartEvent =
  | { readonly kind: 'ready'; readonly part: PartName; readonly pid: number; readonly tookMs: number }
  | {
      readonly kind: 'died';
      readonly part: PartName;
      readonly exit: PartExit;
      readonly restartInMs: number;
      readonly lastLines: readonly string[];
    }
  | { readonly kind: 'slow'; readonly part: PartName };

export type SupervisedPart = {
  readonly name: PartName;
  pid(): number | null;
  /** Asks it to end, waits for it; SIGKILL after its grace. */
  stop(): Promise<void>;
  /** SIGKILL at once, for a process that is itself about to end. */
  kill(): void;
};

export type Supervision = {
  readonly clock: Clock;
  readonly records: PartRecords;
  readonly logOf: (part: PartName) => LogFile;
  readonly onEvent: (event: PartEvent) => void;
  readonly startDeadlineMs: number;
};

/** Starts a part and keeps it running. Rejects with a CommandError if its first start fails. */
export async function supervise(spec: PartSpec, supervision: Supervision): Promise<SupervisedPart> {
  const log = supervision.logOf(spec.name);
  const stopping = new AbortController();
  const start = () => startPartProcess(spec, log, supervision.records);
  let current: PartProcess = start();
  try {
    await sayReady(spec, current, supervision, stopping.signal);
  } catch (error) {
    await current.stop();
    throw startFailure(spec.name, log, error);
  }

  const keep = async (): Promise<void> => {
    let deaths = noDeaths;
    for (;;) {
      const startedAtMs = supervision.clock.monotonicMs();
      const exit = await current.exited;
      if (stopping.signal.aborted) return;
      deaths = afterDeath(deaths, supervision.clock.monotonicMs() - startedAtMs);
      const event = { part: spec.name, exit, restartInMs: deaths.delayMs, lastLines: log.tail() };
      supervision.onEvent({ kind: 'died', ...event });
      await supervision.clock.sleep(deaths.delayMs, stopping.signal);
      if (stopping.signal.aborted) return;
      current = start();
      void sayHowRestartWent(spec, current, supervision, stopping.signal);
    }
  };
  const kept = keep();
  return {
    name: spec.name,
    pid: () => current.pid,
    stop: async () => {
      stopping.abort();
      await current.stop();
      await kept;
    },
    kill: () => {
      stopping.abort();
      current.kill();
    },
  };
}

async function sayReady(
  spec: PartSpec,
  process: PartProcess,
  { clock, startDeadlineMs, onEvent }: Supervision,
  stopping: AbortSignal,
): Promise<void> {
  const tookMs = await becomeReady(spec, process, { clock, deadlineMs: startDeadlineMs, stopping });
  onEvent({ kind: 'ready', part: spec.name, pid: process.pid, tookMs });
}

async function sayHowRestartWent(
  spec: PartSpec,
  process: PartProcess,
  supervision: Supervision,
  stopping: AbortSignal,
): Promise<void> {
  try {
    await sayReady(spec, process, supervision, stopping);
  } catch {
    // The code that waits for the exit reports a death. This reports a part that runs but does not answer.
    if (!stopping.aborted && process.exit() === null) supervision.onEvent({ kind: 'slow', part: spec.name });
  }
}

function startFailure(part: PartName, log: LogFile, cause: unknown): CommandError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const lines = log.tail().map((line) => `    ${line}`);
  const said = lines.length === 0 ? 'It said nothing.' : `Its last lines:\n${lines.join('\n')}`;
  return new CommandError(
    `${part} did not start: ${reason}. ${said}`,
    'the fleet',
    `read the lines above; all of them are in ${log.path}`,
    cause,
  );
}

/** First wait before a dead part is started again: long enough that a port is free, short enough for a held request. */
const firstMs = 200;
/** Longest wait: a part that dies at once forever costs one start in ten seconds. */
const longestMs = 10_000;
/** A part that lived this long was well; its next death is a first one. */
const wellAfterMs = 60_000;

/** Deaths in a row, and how long to wait before the next start. */
type Deaths = { readonly inARow: number; readonly delayMs: number };

export const noDeaths: Deaths = { inARow: 0, delayMs: 0 };

/** Doubles with every death in a row, up to ten seconds. */
export function afterDeath(before: Deaths, livedMs: number): Deaths {
  const inARow = livedMs >= wellAfterMs ? 1 : before.inARow + 1;
  return { inARow, delayMs: Math.min(firstMs * 2 ** (inARow - 1), longestMs) };
}
