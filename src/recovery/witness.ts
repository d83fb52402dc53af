import type { RolloutKey } from '../model/rollout.ts';
import type { SandboxId } from '../model/ids.ts';
import type { KnownSandbox } from '../ports/fleet/pool.ts';

/** Rollouts of a hard life in a fleet of thousands; the one that was not seen for longest goes first. */
const mostRemembered = 20_000;

/**
 * Which rollout this process has seen in which sandbox. Redis may forget it, and the sandbox may be gone or silent by
 * then, before its label was written: then a controller that has seen them together is the only one who knows.
 */
export class Witness {
  readonly #sandboxes = new Map<RolloutKey, SandboxId>();

  /** To be called with what fleet state knows of a sandbox, when that has changed and every now and then. */
  note(sandbox: SandboxId, { phase, owner }: Pick<KnownSandbox, 'phase' | 'owner'>): void {
    if (owner === null || phase !== 'ready') return;
    this.#sandboxes.delete(owner);
    this.#sandboxes.set(owner, sandbox);
    for (const rollout of this.#sandboxes.keys()) {
      if (this.#sandboxes.size <= mostRemembered) return;
      this.#sandboxes.delete(rollout);
    }
  }

  /** Every rollout that was seen in a sandbox, and the last one it was seen in. */
  get lastSeen(): Iterable<readonly [RolloutKey, SandboxId]> {
    return this.#sandboxes;
  }

  /** Null: nobody was seen there. Few are ever asked about, so no second map is kept for them. */
  whoWasIn(sandbox: SandboxId): RolloutKey | null {
    for (const [rollout, seenIn] of this.#sandboxes) if (seenIn === sandbox) return rollout;
    return null;
  }
}
