import type { ProvidedSandbox, ProviderEvent } from '../../../src/ports/sandbox-provider.ts';
import type { SimProcess } from '../engine/process.ts';
import type { WireWorld } from './wire.ts';

type Watcher = {
  readonly process: SimProcess;
  readonly tell: (event: ProviderEvent) => void;
  missed: boolean;
};

/** A watch that has missed something begins anew within this, with a list of everything. */
const relistMs = 8_000;

/** The engine's events on their way to each controller: late, twice, or not before the next list. */
export class Watches {
  readonly #world: WireWorld;
  readonly #list: () => readonly ProvidedSandbox[];
  readonly #watchers = new Set<Watcher>();

  constructor(world: WireWorld, list: () => readonly ProvidedSandbox[]) {
    this.#world = world;
    this.#list = list;
  }

  begin(process: SimProcess, tell: Watcher['tell'], signal: AbortSignal): Promise<void> {
    const watcher = { process, tell, missed: false };
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

  #relist(watcher: Watcher): void {
    watcher.missed = false;
    this.#world.scheduler.after(5, watcher.process.name, 'listed', () =>
      this.#hear(watcher, { kind: 'listed', sandboxes: this.#list() }),
    );
  }

  tell(event: ProviderEvent): void {
    const { scheduler, faults, chance } = this.#world;
    for (const watcher of this.#watchers) {
      if (faults.strikes('event_lost', 'nobody')) {
        if (!watcher.missed)
          scheduler.after(relistMs, watcher.process.name, 'watches anew', () => this.#relist(watcher));
        watcher.missed = true;
        continue;
      }
      const times = faults.strikes('event_twice', 'nobody') ? 2 : 1;
      for (let time = 0; time < times; time += 1) {
        const lateMs = faults.strikes('event_late', 'nobody')
          ? chance.between(100, 6_000)
          : chance.between(1, 30);
        scheduler.after(lateMs, watcher.process.name, `sees ${event.kind}`, () => this.#hear(watcher, event));
      }
    }
  }

  #hear(watcher: Watcher, event: ProviderEvent): void {
    if (watcher.process.alive && this.#watchers.has(watcher)) watcher.tell(event);
  }
}
