import { unavailable } from '#src/adapters/redis/redis-trouble.ts';
import type { Launch } from '#src/ports/fleet/pool.ts';
import type { HandleLaunch, LaunchEnd, LaunchJob, LaunchQueue } from '#src/ports/launch-queue.ts';
import { type SimProcess, worldBeganMs } from '../engine/process.ts';
import type { RedisHost } from './redis-line.ts';

type Worker = {
  readonly process: SimProcess;
  readonly concurrency: number;
  readonly handle: HandleLaunch;
  readonly signal: AbortSignal;
  running: number;
};

/** As Redis keeps it. `delivery`: which worker has its lock; a worker that had it before writes nothing more. */
type Job = {
  readonly launch: Launch;
  readonly addedMs: number;
  /** Its start had a job before. */
  readonly isAgain: boolean;
  state: 'waiting' | 'active' | 'delayed' | 'over';
  tries: number;
  delivery: number;
};

/** BullMQ gives a job whose worker went silent, or could not reach Redis, to another after its lock has lapsed. */
const lockMs = 5_000;
/** Its worker could not renew it for some time before: a launch takes a second. */
const lapsedMs = 700;
const againMs = 200;
/** As many as BullMQ is told to try. */
const attempts = 10;
/** As in the adapter. */
const longWaitMs = 5_000;

/**
 * Launches as the real queue keeps them, in the fleet's Redis: by sandbox, each with one worker at a time that holds its lock. A
 * worker that lost the lock goes on all the same, because it does not hear of it.
 */
export class LaunchJobs {
  readonly #redis: RedisHost;
  readonly #workers: Worker[] = [];
  /** Who renews which lock: none any more after the launch has ended there, whether Redis got its end or not. */
  readonly #holders = new Map<number, Worker>();
  #jobs = new Map<string, Job>();
  #copied = new Map<string, Job>();
  #deliveries = 0;

  constructor(redis: RedisHost) {
    this.#redis = redis;
  }

  /** Launches that wait or run. */
  get depth(): number {
    return [...this.#jobs.values()].filter(({ state }) => state !== 'over').length;
  }

  /** Whether a job for it waits or runs. */
  isLive(sandbox: string): boolean {
    const state = this.#jobs.get(sandbox)?.state;
    return state !== undefined && state !== 'over';
  }

  /** An empty Redis has taken the place of the fleet's. */
  empty(): void {
    this.#jobs = new Map();
  }

  /** A replica has all jobs until now. */
  copy(): void {
    this.#copied = copyOf(this.#jobs);
  }

  promoteCopy(): void {
    this.#jobs = copyOf(this.#copied);
    for (const job of this.#jobs.values()) if (job.state === 'active') this.#watchLock(job, job.delivery);
    for (const job of this.#jobs.values()) if (job.state === 'delayed') this.#wakes(job);
    this.#hand();
  }

  queueFor(process: SimProcess): Pick<LaunchQueue, 'add' | 'addMissing' | 'work'> {
    return {
      add: (launches) =>
        this.#ask(process, 'adds launches', true, () => {
          for (const launch of launches) if (!this.#jobs.has(launch.sandbox)) this.#add(launch, false);
        }),
      addMissing: (starts) =>
        this.#ask(process, 'adds missing launches', false, () => {
          for (const launch of starts) if (!this.isLive(launch.sandbox)) this.#add(launch, true);
        }),
      work: (concurrency, handle, signal) => this.#work({ process, concurrency, handle, signal, running: 0 }),
    };
  }

  /** One command and its answer; `mayBreak`: the connection may break on either way, as at any script. */
  #ask(process: SimProcess, what: string, mayBreak: boolean, act: () => void): Promise<void> {
    const { scheduler, faults } = this.#redis;
    const breaks = (trouble: 'redis_cut_before' | 'redis_cut_after') =>
      mayBreak && faults.strikes(trouble, 'anybody', process.name);
    return new Promise((resolve, reject) => {
      const fail = () => process.hears(() => reject(unavailable('connection reset')));
      scheduler.after(1, process.name, what, () => {
        if (!process.alive) return;
        if (this.#isAway || breaks('redis_cut_before')) return fail();
        act();
        this.#hand();
        if (breaks('redis_cut_after')) return fail();
        process.hears(resolve);
      });
    });
  }

  #add(launch: Launch, isAgain: boolean): void {
    const addedMs = this.#redis.scheduler.nowMs;
    this.#jobs.set(launch.sandbox, { launch, addedMs, isAgain, state: 'waiting', tries: 0, delivery: 0 });
  }

  #work(worker: Worker): Promise<void> {
    this.#workers.push(worker);
    this.#hand();
    return new Promise((resolve) => {
      worker.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  get #isAway(): boolean {
    return this.#redis.scheduler.nowMs < this.#redis.downUntilMs;
  }

  #hand(): void {
    const { scheduler, downUntilMs } = this.#redis;
    if (this.#isAway)
      return void scheduler.after(downUntilMs - scheduler.nowMs + 1, 'queue', 'is back', () => this.#hand());
    for (;;) {
      const next = [...this.#jobs.values()].find(({ state }) => state === 'waiting');
      const worker = this.#workers.find((one) => this.#isFree(one));
      if (next === undefined || worker === undefined) return;
      // The one that has waited longest gets the next.
      this.#workers.push(...this.#workers.splice(this.#workers.indexOf(worker), 1));
      this.#give(worker, next);
    }
  }

  #isFree({ process, concurrency, signal, running }: Worker): boolean {
    if (!process.alive || signal.aborted || running >= concurrency) return false;
    if (process.pausedUntilMs <= this.#redis.scheduler.nowMs) return true;
    process.hears(() => this.#hand());
    return false;
  }

  #give(worker: Worker, job: Job): void {
    const { nowMs } = this.#redis.scheduler;
    const mayBeOver = job.isAgain || job.delivery > 0 || nowMs - job.addedMs > longWaitMs;
    worker.running += 1;
    this.#deliveries += 1;
    job.state = 'active';
    job.delivery = this.#deliveries;
    this.#holders.set(job.delivery, worker);
    this.#watchLock(job, job.delivery);
    const { delivery } = job;
    const ended = (end: LaunchEnd | null) => {
      worker.running -= 1;
      this.#holders.delete(delivery);
      this.#end(job, this.#deliveryOf(job, delivery), end);
    };
    worker.handle(jobOf(job, mayBeOver), worker.signal).then(ended, () => ended(null));
  }

  /** The job as Redis has it now, if this delivery still holds its lock there. */
  #deliveryOf({ launch }: Job, delivery: number): Job | null {
    const job = this.#jobs.get(launch.sandbox);
    return job?.state === 'active' && job.delivery === delivery && !this.#isAway ? job : null;
  }

  #end({ launch }: Job, job: Job | null, end: LaunchEnd | null): void {
    if (job !== null) {
      job.tries += 1;
      const isLast = end === null && this.#redis.faults.strikes('tries_used_up', 'nobody', launch.sandbox);
      job.state = end === null && job.tries < attempts && !isLast ? 'delayed' : 'over';
      if (job.state === 'delayed') this.#wakes(job);
      if (end?.kind === 'over') this.#jobs.delete(launch.sandbox);
    }
    this.#redis.scheduler.after(1, 'queue', `launch ${launch.sandbox}`, () => this.#hand());
  }

  #wakes(job: Job): void {
    this.#redis.scheduler.after(againMs, 'queue', `launch ${job.launch.sandbox}`, () => {
      if (job.state === 'delayed') job.state = 'waiting';
      this.#hand();
    });
  }

  /** It is renewed while its worker works and reaches Redis. */
  #watchLock(job: Job, delivery: number): void {
    const { scheduler, faults } = this.#redis;
    const lapses = faults.strikes('lock_lost', 'nobody', job.launch.sandbox);
    scheduler.after(lapses ? lapsedMs : lockMs, 'queue', `lock of ${job.launch.sandbox}`, () => {
      if (this.#jobs.get(job.launch.sandbox) !== job || job.state !== 'active' || job.delivery !== delivery)
        return;
      const process = this.#holders.get(delivery)?.process;
      const isPaused = (process?.pausedUntilMs ?? 0) > this.#redis.scheduler.nowMs;
      if (process?.alive === true && !isPaused && !this.#isAway && !lapses)
        return this.#watchLock(job, delivery);
      job.state = 'waiting';
      this.#hand();
    });
  }
}

const copyOf = (jobs: ReadonlyMap<string, Job>) =>
  new Map([...jobs].map(([name, job]) => [name, { ...job }]));

const jobOf = ({ launch, addedMs }: Job, mayBeOver: boolean): LaunchJob => ({
  launch,
  addedAtMs: worldBeganMs + addedMs,
  mayBeOver,
  stands: () => undefined,
});
