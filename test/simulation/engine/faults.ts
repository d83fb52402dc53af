import type { Chance } from './chance.ts';
import type { Story } from './story.ts';
import { everyday, type Trouble, troubles } from './troubles.ts';

/** Whom a fault may have hurt: one sandbox or one rollout, by name, or anybody. */
export type Hurt = { readonly part: string } | 'anybody';

/**
 * What goes wrong, by seed: some worlds have every trouble, some a few, every fifth only those of every day, so that what
 * happens without any fault is looked at as well. Ends with {@link end}; then the world must come to rest.
 */
export class Faults {
  /** Nothing goes wrong here but what does every day. */
  readonly calm: boolean;
  readonly #chance: Chance;
  readonly #story: Story;
  readonly #enabled = new Set<Trouble>();
  readonly #hurt = new Set<string>();
  readonly #struck = new Map<string, number>();
  #anybodyHurt = false;
  #over = false;

  /** `share`: of the troubles, that there are in this world. */
  constructor(chance: Chance, story: Story, share: number) {
    this.#chance = chance;
    this.#story = story;
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
  strikes(trouble: Trouble, hurt: Hurt | 'nobody', who = partOf(hurt)): boolean {
    const { share, says, where } = troubles[trouble];
    if (this.#over || !this.#enabled.has(trouble) || !this.#chance.happens(share)) return false;
    this.#remember(trouble, hurt);
    if (says !== null) this.#story.fault(who === '' ? where : who, says);
    return true;
  }

  /** A fault of another kind than the small ones. */
  note(name: string, says: string, hurt: Hurt | 'nobody', who = partOf(hurt)): void {
    this.#remember(name, hurt);
    this.#story.fault(who, says);
  }

  #remember(name: string, hurt: Hurt | 'nobody'): void {
    this.#story.mark(`fault ${name}`);
    this.#struck.set(name, (this.#struck.get(name) ?? 0) + 1);
    if (hurt === 'anybody') this.#anybodyHurt = true;
    else if (hurt !== 'nobody') this.#hurt.add(hurt.part);
  }

  /** Whether no fault was this sandbox' or rollout's own. */
  spared(part: string): boolean {
    return !this.#hurt.has(part);
  }

  /** Whether nothing has gone wrong so far that a rollout with these parts could have felt. */
  sparedAll(parts: Iterable<string>): boolean {
    if (this.#anybodyHurt) return false;
    for (const part of parts) if (!this.spared(part)) return false;
    return true;
  }
}

const partOf = (hurt: Hurt | 'nobody'): string => (typeof hurt === 'string' ? '' : hurt.part);
