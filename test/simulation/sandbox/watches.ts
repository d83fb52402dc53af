import type { ProvidedSandbox, ProviderEvent } from '#src/ports/sandbox-provider.ts';
import type { SimProcess } from '../engine/process.ts';
import type { Hurt } from '../engine/faults.ts';
import type { WireWorld } from './wire.ts';

type Watcher = {
  readonly process: SimProcess;
  readonly tell: (event: ProviderEvent) => void;
  missed: boolean;
  /** Until then nothing of this watch arrives, and what arrives then is as old as it is. */
  behindUntilMs: number;
};

/** A watch that has missed something begins again within this, with a list of everything. */
const relistMs = 8_000;

/** The engine's events on their way to each controller: late, twice, not before the next list, or long after they were true. */
export class Watches {
  readonly #world: WireWorld;
  readonly #list: () => readonly ProvidedSandbox[];
  readonly #watchers = new Set<Watcher>();

  constructor(world: WireWorld, list: () => readonly ProvidedSandbox[]) {
    this.#world = world;
    this.#list = list;
  }

  begin(process: SimProcess, tell: Watcher['tell'], signal: AbortSignal): Promise<void> {
    const watcher = { process, tell, missed: false, behindUntilMs: 0 };
    this.#watchers.add(watcher);
    this.#relist(watcher);
    process.onDeath(() => this.#watchers.delete(watcher));
    return new Promise((resolve) => {
      const stop = () => {
        this.#watchers.delete(watcher);
        resolve();
      };
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  /** Every watch falls behind: it begins again with a list of now, which arrives when it is old, and events after it. */
  fallBehind(untilMs: number): void {
    for (const watcher of this.#watchers) {
      watcher.behindUntilMs = untilMs;
      this.#relist(watcher);
    }
  }

  #relist(watcher: Watcher): void {
    watcher.missed = false;
    const { scheduler } = this.#world;
    const old = this.#list();
    const isBehind = scheduler.nowMs < watcher.behindUntilMs;
    this.#arrive(watcher, isBehind ? 0 : 5, 'listed', () => ({
      kind: 'listed',
      sandboxes: isBehind ? old : this.#list(),
    }));
  }

  tell(event: ProviderEvent): void {
    const { faults, chance } = this.#world;
    for (const watcher of this.#watchers) {
      if (faults.strikes('event_lost', hurtBy(event))) {
        this.#miss(watcher);
        continue;
      }
      const times = faults.strikes('event_twice', 'nobody') ? 2 : 1;
      for (let time = 0; time < times; time += 1) {
        const isLate = faults.strikes('event_late', 'nobody');
        const lateMs = isLate ? chance.between(100, 6_000) : chance.between(1, 30);
        this.#arrive(watcher, lateMs, `sees ${event.kind}`, () => event);
      }
    }
  }

  #miss(watcher: Watcher): void {
    if (!watcher.missed) {
      const { scheduler } = this.#world;
      scheduler.after(relistMs, watcher.process.name, 'watches again', () => this.#relist(watcher));
    }
    watcher.missed = true;
  }

  #arrive(watcher: Watcher, afterMs: number, what: string, eventOf: () => ProviderEvent): void {
    const { scheduler } = this.#world;
    const heldMs = Math.max(0, watcher.behindUntilMs - scheduler.nowMs);
    scheduler.after(heldMs + afterMs, watcher.process.name, what, () => {
      if (!this.#watchers.has(watcher)) return;
      const event = eventOf();
      watcher.process.hears(() => watcher.tell(event));
    });
  }
}

/** How a sandbox ended is told once: a controller that misses it can only see that it is gone. */
const hurtBy = (event: ProviderEvent): Hurt | 'nobody' =>
  event.kind === 'gone' ? { part: event.sandbox } : 'nobody';
