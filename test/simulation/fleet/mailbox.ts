import type { Messages } from '#src/adapters/redis/connection.ts';
import type { Chance } from '../engine/chance.ts';
import type { Faults } from '../engine/faults.ts';
import type { SimProcess } from '../engine/process.ts';
import type { Scheduler } from '../engine/scheduler.ts';

type Listener = {
  readonly process: SimProcess;
  readonly channel: string;
  readonly hear: (message: string) => void;
};

/** Redis' messages on their way to whoever listens: each listener hears, misses or mishears each by itself. */
export class Mailbox {
  readonly #scheduler: Scheduler;
  readonly #faults: Faults;
  readonly #chance: Chance;
  readonly #listeners = new Set<Listener>();
  #last = '';

  constructor(scheduler: Scheduler, faults: Faults, chance: Chance) {
    this.#scheduler = scheduler;
    this.#faults = faults;
    this.#chance = chance;
  }

  messagesFor(process: SimProcess): Messages {
    return {
      listen: (channel, hear) => {
        const listener = { process, channel, hear };
        this.#listeners.add(listener);
        process.onDeath(() => this.#listeners.delete(listener));
        return () => this.#listeners.delete(listener);
      },
    };
  }

  /** `published`: channels and messages, alternating. */
  deliver(published: readonly string[]): void {
    for (let index = 0; index + 1 < published.length; index += 2) {
      this.#toAll(published[index] ?? '', published[index + 1] ?? '');
    }
  }

  #toAll(channel: string, message: string): void {
    for (const listener of this.#listeners) {
      if (listener.channel !== channel || this.#faults.strikes('message_lost', 'nobody')) continue;
      const heard = this.#faults.strikes('message_spurious', 'nobody') ? this.#last : message;
      this.#scheduler.after(this.#chance.between(0, 5), listener.process.name, 'message', () => {
        listener.process.hears(() => listener.hear(heard));
      });
    }
    this.#last = message;
  }
}
