import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { momentNow } from '../calls/background-time.ts';
import type { Config } from '../config.ts';

/*
 * A timeout counts wall time, and what it ends may be worth a score. On a busy machine it would end what has done nothing wrong. So the
 * clock of a grader, and of what it runs, stands still while the machine starves the sandbox: something in it waits for a processor,
 * and yet its group gets less than its CPU limit. A policy cannot bring that about by work of its own, which counts as got, nor by sleeping,
 * which waits for no processor.
 */

/** The sandbox at one moment, in milliseconds. */
export type Look = {
  readonly atMs: number;
  /** Processor time that its group has used. */
  readonly usedMs: number;
  /** How long each of its threads has waited for a processor (the second number of /proc/PID/task/TID/schedstat). */
  readonly waitedMs: ReadonlyMap<string, number>;
};

/** Null: this machine does not tell, and no time counts as starved. */
export type TakeLook = () => Look | null;

/** How long a clock may run by itself, and for how long it may stand still. */
export type FairTime = {
  readonly timeoutMs: number;
  readonly mostStarvedMs: number;
  readonly look: TakeLook;
  /** Processors that the sandbox may use. */
  readonly processors: number;
};

/** A look costs some hundred microseconds with the few threads of a grader, so this is below a thousandth of a processor. */
const lookEveryMs = 500;

type Pause = (ms: number, signal: AbortSignal) => Promise<void>;
const byTheClock: Pause = (ms, signal) => sleep(ms, undefined, { signal });

/** Resolves when the time is over. Rejects with the signal's reason. */
export async function fairTimeout(time: FairTime, signal: AbortSignal, pause = byTheClock): Promise<void> {
  let [before, leftMs, mayStarveMs] = [time.look(), time.timeoutMs, time.mostStarvedMs];
  if (before === null) return pause(leftMs, signal);
  while (leftMs > 0) {
    await pause(Math.min(lookEveryMs, leftMs), signal);
    const now = time.look();
    if (now === null) return pause(leftMs, signal);
    const starved = Math.min(starvedMs(before, now, time.processors), mayStarveMs);
    mayStarveMs -= starved;
    leftMs -= now.atMs - before.atMs - starved;
    before = now;
  }
}

/** How much of the time between two looks the machine took from the sandbox. */
export function starvedMs(before: Look, now: Look, processors: number): number {
  const passedMs = now.atMs - before.atMs;
  const waits = [...now.waitedMs].map(([thread, waitedMs]) => waitedMs - (before.waitedMs.get(thread) ?? 0));
  const waitedMs = Math.max(0, ...waits);
  const unusedMs = passedMs - (now.usedMs - before.usedMs) / processors;
  return Math.max(0, Math.min(passedMs, waitedMs, unusedMs));
}

/** Of the sandbox in which this process runs. */
export const starvationOf = ({ cgroupCpu }: Pick<Config, 'cgroupCpu'>) => ({
  processors: processorsOfSandbox(),
  look: () => {
    const moment = momentNow(cgroupCpu);
    return moment && { ...moment, waitedMs: waitsOfThreads() };
  },
});

/** A policy may have as many threads as its limit of processes; these take some 20 ms to look at. */
const mostThreads = 1_000;

function waitsOfThreads(): ReadonlyMap<string, number> {
  const waits = new Map<string, number>();
  for (const pid of namesIn('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    for (const thread of namesIn(`/proc/${pid}/task`)) {
      if (waits.size >= mostThreads) return waits;
      const path = `/proc/${pid}/task/${thread}`;
      const nanoseconds = Number(textOf(`${path}/schedstat`)?.split(' ')[1]);
      if (Number.isFinite(nanoseconds)) waits.set(path, nanoseconds / 1e6);
    }
  }
  return waits;
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
