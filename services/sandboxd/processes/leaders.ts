import { readProcess } from './process-table.ts';

/** The first process of a command; `uid: null` where it shares sandboxd's own id, which then tells nothing. */
export type Leader = { readonly pid: number; readonly startTicks: number; readonly uid: number | null };

/**
 * Every command's leader, also after its end: background processes keep its session. So a killed command's strays can be
 * told from those of another. Bounded by the number of calls that a journal takes.
 */
export class Leaders {
  readonly #pids = new Set<number>();
  readonly #uids = new Set<number>();

  add(pid: number, uid: number | null): Leader {
    this.#pids.add(pid);
    if (uid !== null) this.#uids.add(uid);
    // A process that has already been reaped left nothing younger than itself behind that we could tell.
    return { pid, uid, startTicks: readProcess(pid)?.startTicks ?? Number.POSITIVE_INFINITY };
  }

  sessionsBut(leader: Leader): ReadonlySet<number> {
    return this.#pids.difference(new Set([leader.pid]));
  }

  /** Whether a process of this user was ever started. */
  led(uid: number): boolean {
    return this.#uids.has(uid);
  }

  all(): readonly number[] {
    return [...this.#pids];
  }
}
