import { WireError } from '#services/sandboxd/wire-error.ts';
import { LinkError, type SandboxTarget } from '#src/ports/sandbox-link.ts';
import type { Chance } from '../engine/chance.ts';
import type { Faults } from '../engine/faults.ts';
import type { SimProcess } from '../engine/process.ts';
import type { Scheduler } from '../engine/scheduler.ts';
import type { Story } from '../engine/story.ts';
import type { Daemon } from './daemon.ts';
import type { Box, Sandboxes } from './sandboxes.ts';
import type { Truth } from './truth.ts';

export type WireWorld = {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly chance: Chance;
  readonly sandboxes: Sandboxes;
  readonly story: Story;
  readonly truth: Truth;
};

export type Question<Answer> = {
  readonly what: string;
  readonly serve: (daemon: Daemon) => Answer | Promise<Answer>;
  /** Whether the connection may repeat it by itself when it breaks. */
  readonly repeatable?: boolean;
};

/**
 * One request to a sandboxd and back, through everything that can happen on the way: nobody listens, the connection
 * breaks before or after sandboxd acted, the request arrives twice, or long after its client gave up; the daemon
 * stands still, dies in the middle, or is another one. What the client learns is what the HTTP adapter would say.
 */
export function askOver<Answer>(
  world: WireWorld,
  process: SimProcess,
  target: SandboxTarget,
  question: Question<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  if (!process.alive) return new Promise(() => undefined);
  return new Promise<Answer>((resolve, reject) => {
    const exchange = new Exchange(world, process, target, question, { resolve, reject });
    exchange.send(signal);
  });
}

type Client<Answer> = { readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void };

class Exchange<Answer> {
  readonly #world: WireWorld;
  readonly #process: SimProcess;
  readonly #target: SandboxTarget;
  readonly #question: Question<Answer>;
  readonly #client: Client<Answer>;
  #over = false;
  #stopListening: () => void = () => undefined;

  constructor(
    world: WireWorld,
    process: SimProcess,
    target: SandboxTarget,
    question: Question<Answer>,
    client: Client<Answer>,
  ) {
    this.#world = world;
    this.#process = process;
    this.#target = target;
    this.#question = question;
    this.#client = client;
  }

  send(signal: AbortSignal): void {
    const gaveUp = () => this.#fail(cut('given up'));
    signal.addEventListener('abort', gaveUp, { once: true });
    this.#stopListening = () => signal.removeEventListener('abort', gaveUp);
    if (signal.aborted) return gaveUp();
    this.#travel(`asks ${this.#question.what}`, () => this.#arrive());
  }

  get #hurt() {
    return { part: this.#target.sandbox };
  }

  #travel(what: string, then: () => void | Promise<void>): void {
    const { scheduler, faults, chance } = this.#world;
    const slow = faults.strikes('link_slow', 'nobody');
    scheduler.after(slow ? chance.between(10, 3_000) : chance.between(0, 3), this.#process.name, what, then);
  }

  #arrive(): void | Promise<void> {
    const { faults, sandboxes } = this.#world;
    if ((this.#over || !this.#process.alive) && !faults.strikes('link_late', 'nobody')) return;
    if (faults.strikes('link_refused', this.#hurt)) return this.#fail(refused('connection refused'));
    const box = sandboxes.find(this.#target.sandbox);
    if (box === undefined || !box.daemon.alive || box.cutOffUntilMs > this.#world.scheduler.nowMs)
      return this.#fail(refused('connection refused'));
    if (faults.strikes('link_cut_before', this.#hurt)) return this.#fail(cut('connection reset'));
    return this.#reach(box);
  }

  /** A daemon that stands still takes the request when it goes on, unless it never does. */
  #reach(box: Box): void | Promise<void> {
    const { scheduler } = this.#world;
    const waitsMs = box.stalledUntilMs - scheduler.nowMs;
    if (waitsMs <= 0) return this.#serve(box.daemon);
    const gone = box.daemon.onEnd(() => this.#fail(cut('connection reset')));
    scheduler.after(waitsMs, box.sandbox, 'goes on', () => {
      gone();
      return box.daemon.alive ? this.#serve(box.daemon) : undefined;
    });
  }

  async #serve(daemon: Daemon): Promise<void> {
    const { boot } = this.#target;
    if (boot !== null && boot !== daemon.boot) {
      return this.#travel('hears', () =>
        this.#fail(new LinkError({ kind: 'other_boot', boot: daemon.boot })),
      );
    }
    if (this.#question.repeatable !== false && this.#world.faults.strikes('link_twice', 'nobody')) {
      this.#travel('asks twice', () => void this.#act(daemon));
    }
    const gone = daemon.onEnd(() => this.#fail(cut('connection reset')));
    // Not awaited: a held request must not hold up the world.
    void this.#act(daemon).then((answered) => {
      gone();
      if (answered === null || this.#over) return;
      if (this.#world.faults.strikes('link_cut_after', this.#hurt))
        return this.#fail(cut('connection reset'));
      this.#travel('hears', () => answered());
    });
  }

  /** What to tell the client; null from a daemon that died over it. */
  async #act(daemon: Daemon): Promise<(() => void) | null> {
    if (!daemon.alive) return null;
    try {
      const answer = await this.#question.serve(daemon);
      return daemon.alive ? () => this.#succeed(answer) : null;
    } catch (thrown) {
      return () => this.#fail(thrown instanceof WireError ? refusalOf(thrown) : cut(String(thrown)));
    }
  }

  get #call(): string | null {
    return /^(?:call|attach) (.+)$/.exec(this.#question.what)?.[1] ?? null;
  }

  #succeed(answer: Answer): void {
    if (this.#call !== null && !this.#over)
      this.#world.truth.answered(this.#target.sandbox, this.#call, answer === 'running');
    this.#finish(() => this.#client.resolve(answer));
  }

  #fail(error: LinkError): void {
    // A second run that is not sent leaves a first one, and which of them would have been the answer is not known.
    const mayHaveRun =
      error.trouble.kind === 'maybe_sent' || this.#call?.startsWith('corral again ') === true;
    if (this.#call !== null && mayHaveRun) this.#world.truth.doubted.add(this.#target.sandbox);
    this.#finish(() => this.#client.reject(error));
  }

  #finish(tell: () => void): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopListening();
    this.#process.hears(tell);
  }
}

const cut = (detail: string) => new LinkError({ kind: 'maybe_sent', detail });
const refused = (detail: string) => new LinkError({ kind: 'not_sent', detail });

function refusalOf({ status, code, message, errno }: WireError): LinkError {
  if (code === 'other_sandbox') return new LinkError({ kind: code });
  return new LinkError({ kind: 'refused', status, code, message, ...(errno === undefined ? {} : { errno }) });
}
