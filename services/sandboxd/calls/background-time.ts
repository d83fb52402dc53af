import { readFileSync } from 'node:fs';
import { monotonicMs } from '../clock.ts';

/** A moment at which no call runs: the processor time that the sandbox has used, and the clock. */
type Moment = { readonly usedMs: number; readonly atMs: number };

/**
 * How long processes worked in the background, which is between the calls of a rollout. It is measured by processor time,
 * because the wall time between two calls is that of the trainer and its model. More than one core counts once. What runs
 * before the first call is the environment's.
 */
export class BackgroundTime {
  readonly #now: () => Moment | null;
  #running = 0;
  #hadCall = false;
  #idleSince: Moment | null = null;
  #workedMs = 0;

  constructor(now: () => Moment | null) {
    this.#now = now;
  }

  /** A call, or a transfer of files, begins. */
  enter(): void {
    this.#running += 1;
    const before = this.#idleSince;
    this.#idleSince = null;
    const now = before && this.#now();
    if (before === null || now === null) return;
    this.#workedMs += Math.max(0, Math.min(now.usedMs - before.usedMs, now.atMs - before.atMs));
  }

  leave(): void {
    this.#running -= 1;
    if (this.#running === 0 && this.#hadCall) this.#idleSince = this.#now();
  }

  /** What a call of the rollout is charged for the time before it, in whole milliseconds. */
  take(): number {
    this.#hadCall = true;
    const tookMs = Math.round(this.#workedMs);
    this.#workedMs = 0;
    return tookMs;
  }

  /** A call that took it did not run: the next one is charged. */
  giveBack(tookMs: number): void {
    this.#workedMs += tookMs;
  }
}

/** A container sees its own group at the root of the tree: version 2, then version 1. */
const containerFiles = ['/sys/fs/cgroup/cpu.stat', '/sys/fs/cgroup/cpuacct/cpuacct.usage'];

/** What the sandbox's group has used, without sandboxd, which works between calls on its own account. */
export function momentNow(told: string | null): Moment | null {
  for (const file of told === null ? containerFiles : [told]) {
    const groupMs = groupTimeMs(file);
    if (groupMs === null) continue;
    const { user, system } = process.cpuUsage();
    return { usedMs: groupMs - (user + system) / 1_000, atMs: monotonicMs() };
  }
  return null;
}

const usageField = 'usage_usec ';

/** A field of version 2, in microseconds; the whole text of version 1, in nanoseconds. */
function groupTimeMs(file: string): number | null {
  try {
    const lines = readFileSync(file, 'latin1').trim().split('\n');
    const usage = lines.find((line) => line.startsWith(usageField));
    const usedMs =
      usage === undefined
        ? Number(lines.join('')) / 1_000_000
        : Number(usage.slice(usageField.length)) / 1_000;
    return Number.isFinite(usedMs) ? usedMs : null;
  } catch {
    return null;
  }
}
