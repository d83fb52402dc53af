import type { Chance } from './chance.ts';
import type { Scheduler } from './scheduler.ts';

/** Small troubles and how likely each is, whenever it could happen. Each is one that the real counterpart can have. */
const troubles = {
  /** The connection to Redis breaks before a script has run, or after it and before its answer. */
  redis_cut_before: 0.01,
  redis_cut_after: 0.01,
  /** The answer travels for so long that much else happens in between. */
  redis_slow: 0.03,
  /** A wake-up is a hint: lost, or told of a rollout that nothing happened to. */
  message_lost: 0.25,
  message_spurious: 0.05,
  /** Nobody listens at a sandbox's address just now. */
  link_refused: 0.02,
  /** The connection breaks before sandboxd has read the request, or after it has acted. */
  link_cut_before: 0.015,
  link_cut_after: 0.02,
  link_slow: 0.05,
  /** The connection's own repeat arrives although the first was read. */
  link_twice: 0.03,
  /** A request whose client has given up arrives all the same. */
  link_late: 0.5,
  /** Between trainer and gateway. */
  http_cut_before: 0.015,
  http_cut_after: 0.02,
  create_fails: 0.05,
  create_unanswered: 0.05,
  create_hangs: 0.02,
  create_silent: 0.04,
  create_dies: 0.03,
  provider_away: 0.03,
  event_late: 0.2,
  event_lost: 0.1,
  event_twice: 0.1,
} as const;

/** What may happen any day without anybody's fault, and must hurt nobody: in every world. */
const everyday: ReadonlySet<Trouble> = new Set([
  'message_lost',
  'message_spurious',
  'event_late',
  'event_twice',
  'link_slow',
  'redis_slow',
]);

export type Trouble = keyof typeof troubles;

/** Whom a fault may have hurt: one sandbox, or anybody. */
export type Hurt = { readonly sandbox: string } | 'anybody';

/**
 * What goes wrong, by seed: some worlds have every trouble, some a few, every fifth only those of every day, so that what
 * happens without any fault is looked at as well. Ends with {@link end}; then the world must come to rest.
 */
export class Faults {
  /** Nothing goes wrong here but what does every day. */
  readonly calm: boolean;
  readonly #chance: Chance;
  readonly #scheduler: Scheduler;
  readonly #enabled = new Set<Trouble>();
  readonly #hurtSandboxes = new Set<string>();
  readonly #struck = new Map<string, number>();
  #anybodyHurt = false;
  #over = false;

  constructor(chance: Chance, scheduler: Scheduler) {
    this.#chance = chance;
    this.#scheduler = scheduler;
    const share = chance.pick([0, 0.2, 0.5, 0.8, 1]);
    this.calm = share === 0;
    for (const trouble of Object.keys(troubles) as Trouble[]) {
      if (chance.happens(share) || everyday.has(trouble)) this.#enabled.add(trouble);
    }
  }

  get over(): boolean {
    return this.#over;
  }

  /** How often each fault has struck. */
  get struck(): ReadonlyMap<string, number> {
    return this.#struck;
  }

  end(): void {
    this.#over = true;
  }

  /** Whether this trouble strikes now; then whom it hurts is remembered. */
  strikes(trouble: Trouble, hurt: Hurt | 'nobody'): boolean {
    if (this.#over || !this.#enabled.has(trouble) || !this.#chance.happens(troubles[trouble])) return false;
    this.note(trouble, hurt);
    return true;
  }

  note(name: string, hurt: Hurt | 'nobody'): void {
    this.#scheduler.mark(`fault ${name}`);
    this.#struck.set(name, (this.#struck.get(name) ?? 0) + 1);
    if (hurt === 'anybody') this.#anybodyHurt = true;
    else if (hurt !== 'nobody') this.#hurtSandboxes.add(hurt.sandbox);
  }

  /** Whether no fault was this sandbox' own. */
  spared(sandbox: string): boolean {
    return !this.#hurtSandboxes.has(sandbox);
  }

  /** Whether nothing has gone wrong so far that a rollout with these sandboxes could have felt. */
  sparedAll(sandboxes: Iterable<string>): boolean {
    if (this.#anybodyHurt) return false;
    for (const sandbox of sandboxes) if (!this.spared(sandbox)) return false;
    return true;
  }
}
