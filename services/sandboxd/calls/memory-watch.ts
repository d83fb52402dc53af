import { lookAtMemoryEveryMs, watchMachineMemory } from '#src/platform/machine-memory.ts';
import {
  type MemoryFiles,
  type MemoryKills,
  memoryKillsSince,
  needsMachine,
  readMemoryAccount,
} from '#src/platform/memory-account.ts';

export type WatchedMemory = {
  readonly end: () => void;
  /** What was killed for memory since the beginning. */
  readonly kills: () => MemoryKills | null;
};

export function watchMemory(files: MemoryFiles, lookEveryMs = lookAtMemoryEveryMs): WatchedMemory {
  const before = readMemoryAccount(files);
  if (!needsMachine(files))
    return { end: () => undefined, kills: () => memoryKillsSince(before, files, () => false) };
  const machine = watchMachineMemory();
  const timer = setInterval(machine.look, lookEveryMs).unref();
  return {
    end: () => clearInterval(timer),
    kills: () => memoryKillsSince(before, files, machine.hadRoom),
  };
}

const lookBetweenEveryMs = 1_000;

/**
 * While no call runs, from the bind on: a server that a call left behind may be killed because the machine has no memory, and then the next
 * call fails, or the grader finds less, for no reason of the policy's. So every call after it says so.
 */
export class MemoryBetweenCalls {
  readonly #files: MemoryFiles | null;
  #isBound = false;
  #running = 0;
  #watched: WatchedMemory | null = null;
  #found: MemoryKills | null = null;

  constructor(files: MemoryFiles | null) {
    this.#files = files;
  }

  begin(): void {
    this.#isBound = true;
    this.#watch();
  }

  /** A call starts. */
  enter(): void {
    this.#running += 1;
    const kills = this.#watched?.kills() ?? null;
    if (!isOwn(kills)) this.#found = kills;
    this.#watched?.end();
    this.#watched = null;
  }

  /** A call has ended; its own kills are read after this, so that none is missed. */
  leave(): void {
    this.#running -= 1;
    this.#watch();
  }

  /** What a call reports: its own kills, unless only those before it were not for the sandbox's own limit. */
  toldWith(during: MemoryKills | null): MemoryKills | null {
    return isOwn(during) ? (this.#found ?? during) : during;
  }

  /** Whether something was killed until now that was not for the sandbox's own limit. */
  get isDisturbed(): boolean {
    return this.#found !== null || !isOwn(this.#watched?.kills() ?? null);
  }

  #watch(): void {
    if (!this.#isBound || this.#running > 0 || this.#files === null) return;
    this.#watched ??= watchMemory(this.#files, lookBetweenEveryMs);
  }
}

const isOwn = (kills: MemoryKills | null): boolean => kills?.lackedBy == null || kills.lackedBy === 'sandbox';
