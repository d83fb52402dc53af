import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { momentNow } from '../calls/background-time.ts';
import { monotonicMs } from '../clock.ts';
import type { Config } from '../config.ts';

/*
 * A timeout measures wall time, so a busy machine could time out a correct command. The clock of a command, of a grader, and of the programs
 * that a grader runs, pauses while the machine starves the sandbox. Three things must be true at once, so that a policy cannot pause it by work of its own:
 * all of its busy threads wait for a processor, its group gets less than its CPU limit, and the machine has no idle processor.
 */

/** In milliseconds. */
export type CpuSample = {
  readonly atMs: number;
  /** What the sandbox's group has used. */
  readonly usedMs: number;
  /** What all processors of the machine together were idle. */
  readonly idleMs: number;
  /** For how long each thread of the sandbox ran, and waited for a processor. */
  readonly threads: ReadonlyMap<string, ThreadTimes>;
};
type ThreadTimes = { readonly ranMs: number; readonly waitedMs: number };

/**
 * A thread that ran or waited for less than this share of the time is not busy. It bounds what a policy gains by threads that only wait:
 * its work would have to stay below this share, which is as much as a pause of four timeouts gives back.
 */
const busyShare = 0.2;

/** How much of the time between two samples the machine took from the sandbox: as much as from its busy thread that lost least. */
export function starvedMs(before: CpuSample, now: CpuSample, processors: number): number {
  const passedMs = now.atMs - before.atMs;
  const waits = [...now.threads].flatMap(([thread, { ranMs, waitedMs }]) => {
    const { ranMs: ranBefore = 0, waitedMs: waitedBefore = 0 } = before.threads.get(thread) ?? {};
    const [ran, waited] = [ranMs - ranBefore, waitedMs - waitedBefore];
    return ran + waited < busyShare * passedMs ? [] : [(passedMs * waited) / (ran + waited)];
  });
  if (waits.length === 0) return 0;
  const unusedMs = passedMs - (now.usedMs - before.usedMs) / processors;
  const fullMs = passedMs - (now.idleMs - before.idleMs);
  return Math.max(0, Math.min(passedMs, ...waits, unusedMs, fullMs));
}

/** A sample takes up to 10 ms, and all clocks of a sandbox share it. */
const sampleEveryMs = 400;
/** Time between samples that are further apart does not count: most of it was not seen. */
const longestGapMs = 5_000;

/** How long the machine has starved this sandbox, from the first question on. */
export class Starvation {
  readonly #sample: () => CpuSample | null;
  readonly #processors: number;
  #last: CpuSample | null = null;
  #totalMs = 0;

  /** `sample`: null if this machine does not have the numbers; then no time counts. `processors`: that the sandbox may use. */
  constructor(sample: () => CpuSample | null, processors: number) {
    this.#sample = sample;
    this.#processors = processors;
  }

  totalMs(nowMs: number): number {
    const last = this.#last;
    if (last !== null && nowMs - last.atMs < sampleEveryMs) return this.#totalMs;
    const now = this.#sample();
    if (last !== null && now !== null && now.atMs - last.atMs <= longestGapMs)
      this.#totalMs += starvedMs(last, now, this.#processors);
    this.#last = now;
    return this.#totalMs;
  }
}

/** For how long a clock may pause, from the first question on. */
export class Pauses {
  readonly #starvation: Starvation;
  readonly #maxMs: number;
  #fromMs: number | null = null;

  constructor(starvation: Starvation, maxMs: number) {
    this.#starvation = starvation;
    this.#maxMs = maxMs;
  }

  takenMs(nowMs: number): number {
    const totalMs = this.#starvation.totalMs(nowMs);
    this.#fromMs ??= totalMs;
    return Math.min(this.#maxMs, totalMs - this.#fromMs);
  }

  /** For a program that runs within this clock's time. */
  within(maxMs: number, nowMs = monotonicMs()): Pauses {
    return new Pauses(this.#starvation, Math.min(maxMs, this.#maxMs - this.takenMs(nowMs)));
  }
}

/** Without them if the clock may not pause: then nothing is sampled. */
export const pausesOf = (
  starvation: Starvation,
  { maxPauseMs }: { readonly maxPauseMs: number },
): { readonly pauses?: Pauses } => (maxPauseMs > 0 ? { pauses: new Pauses(starvation, maxPauseMs) } : {});

/** Resolves when a command's time is over, whose clock may pause or not. Rejects with the signal's reason. */
export function timeOver(
  { timeoutMs, pauses }: { readonly timeoutMs: number; readonly pauses?: Pauses },
  signal: AbortSignal,
): Promise<unknown> {
  return pauses === undefined
    ? sleep(timeoutMs, undefined, { signal })
    : fairTimeout(timeoutMs, pauses, signal);
}

/** Sleeps as timers do, and reads a clock that only goes forward. */
const realTime = {
  nowMs: monotonicMs,
  pause: (ms: number, signal: AbortSignal): Promise<unknown> => sleep(ms, undefined, { signal }),
};

/**
 * Resolves when the time is over. Rejects with the signal's reason. The first sample is taken after a tenth of the time, so that most commands
 * cost none: they end before it.
 */
export async function fairTimeout(
  timeoutMs: number,
  pauses: Pauses,
  signal: AbortSignal,
  { nowMs, pause }: typeof realTime = realTime,
): Promise<void> {
  const endMs = nowMs() + timeoutMs;
  await pause(Math.min(Math.ceil(timeoutMs / 10), sampleEveryMs), signal);
  for (;;) {
    const leftMs = endMs + pauses.takenMs(nowMs()) - nowMs();
    if (leftMs <= 0) return;
    await pause(Math.min(leftMs, sampleEveryMs), signal);
  }
}

/** Of the sandbox in which this process runs. */
export const starvationOf = ({ cgroupCpu }: Pick<Config, 'cgroupCpu'>): Starvation =>
  new Starvation(() => sampleOf(cgroupCpu), processorsOfSandbox());

function sampleOf(cgroupCpu: string | null): CpuSample | null {
  const moment = momentNow(cgroupCpu);
  const idleMs = idleOfMachine(textOf('/proc/stat'));
  const threads = threadsNow();
  return moment === null || idleMs === null || threads === null ? null : { ...moment, idleMs, threads };
}

/** A unit of /proc/stat. The kernel converts to it, whatever its own clock is. */
const tickMs = 10;

/** From the line of all processors: idle, and idle while a disk works. */
export function idleOfMachine(stat: string | null): number | null {
  const line = stat?.split('\n').find((each) => each.startsWith('cpu '));
  const [, , , , idle, waiting] = line?.split(/ +/) ?? [];
  const ticks = Number(idle) + Number(waiting);
  return Number.isFinite(ticks) ? ticks * tickMs : null;
}

/** No honest grader has as many; they would take too long to look at. */
const mostThreads = 500;

/** Without this process. Null: there are too many. */
function threadsNow(): ReadonlyMap<string, ThreadTimes> | null {
  const threads = new Map<string, ThreadTimes>();
  for (const pid of namesIn('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    for (const thread of namesIn(`/proc/${pid}/task`)) {
      if (threads.size >= mostThreads) return null;
      const path = `/proc/${pid}/task/${thread}`;
      const [ranNs, waitedNs] = textOf(`${path}/schedstat`)?.split(' ').map(Number) ?? [];
      if (ranNs !== undefined && waitedNs !== undefined)
        threads.set(path, { ranMs: ranNs / 1e6, waitedMs: waitedNs / 1e6 });
    }
  }
  return threads;
}

const bandwidthFiles = ['/sys/fs/cgroup/cpu.max', '/sys/fs/cgroup/cpu/cpu.cfs_quota_us'] as const;

/** By the sandbox's CPU limit and the machine. */
export function processorsOfSandbox(read: (path: string) => string | null = textOf): number {
  const [v2, v1] = bandwidthFiles.map(read);
  const [quota, period] = v2?.trim().split(' ') ?? [
    v1?.trim(),
    read('/sys/fs/cgroup/cpu/cpu.cfs_period_us')?.trim(),
  ];
  const limit = Number(quota) / Number(period);
  return limit > 0 ? Math.min(limit, availableParallelism()) : availableParallelism();
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // It ended between the listing and the look.
  }
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return null;
  }
}
