import { untold } from '#test/fakes/launch-queue.ts';
import { freeSlots } from '#src/adapters/bullmq/launch-queue.ts';
import type { HandleTicket, LaunchQueue } from '#src/ports/launch-queue.ts';
import type { SimProcess } from '../engine/process.ts';
import type { Scheduler } from '../engine/scheduler.ts';

type Worker = {
  readonly process: SimProcess;
  readonly concurrency: number;
  readonly handle: HandleTicket;
  readonly signal: AbortSignal;
  running: number;
};

/** BullMQ gives a ticket whose worker went silent to another after its lock has lapsed. */
const lockMs = 30_000;
const againMs = 200;
/** As many as BullMQ is told to try. */
const attempts = 10;

/** Tickets as the real queue keeps them: by slot, never more than `max`, each with one worker at a time. */
export class TicketQueue {
  readonly #scheduler: Scheduler;
  readonly #max: number;
  readonly #waiting: { readonly slot: string; readonly ticket: string; tries: number }[] = [];
  readonly #taken = new Set<string>();
  readonly #workers: Worker[] = [];
  #tickets = 0;

  constructor(scheduler: Scheduler, max: number) {
    this.#scheduler = scheduler;
    this.#max = max;
  }

  /** Tickets that wait or run. */
  get depth(): number {
    return this.#taken.size;
  }

  queueFor(process: SimProcess): Pick<LaunchQueue, 'offer' | 'work'> {
    return {
      offer: (count) => this.#offer(process, count),
      work: (concurrency, handle, signal) => this.#work({ process, concurrency, handle, signal, running: 0 }),
    };
  }

  #offer(process: SimProcess, count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#scheduler.after(1, process.name, 'offers tickets', () => {
        for (const slot of freeSlots([...this.#taken], count, this.#max)) {
          this.#tickets += 1;
          this.#taken.add(slot);
          this.#waiting.push({ slot, ticket: `${slot}-${this.#tickets}`, tries: 0 });
        }
        this.#hand();
        if (process.alive) resolve();
      });
    });
  }

  #work(worker: Worker): Promise<void> {
    this.#workers.push(worker);
    this.#hand();
    return new Promise((resolve) => {
      worker.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  #hand(): void {
    for (const worker of this.#workers) {
      while (worker.process.alive && !worker.signal.aborted && worker.running < worker.concurrency) {
        const next = this.#waiting.shift();
        if (next === undefined) return;
        this.#give(worker, next);
      }
    }
  }

  #give(worker: Worker, job: { readonly slot: string; readonly ticket: string; tries: number }): void {
    worker.running += 1;
    let over = false;
    const end = (again: boolean, afterMs: number) => {
      if (over) return;
      over = true;
      worker.running -= 1;
      job.tries += 1;
      this.#scheduler.after(afterMs, 'queue', `ticket ${job.ticket}`, () => {
        if (again && job.tries < attempts) this.#waiting.push(job);
        else this.#taken.delete(job.slot);
        this.#hand();
      });
    };
    worker.process.onDeath(() => end(true, lockMs));
    worker.handle(untold(job.ticket), worker.signal).then(
      () => end(false, 1),
      () => end(true, againMs),
    );
  }
}
