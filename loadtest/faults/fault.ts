import type { LocalSandbox } from '#cli/fleet/sandbox-list.ts';
import type { Random } from '#src/ports/random.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { SoakFleet } from '../fleet/soak-fleet.ts';
import type { FaultDone } from '../trainer/faults-seen.ts';

/** What a fault may reach. */
export type FaultWorld = {
  readonly fleet: Pick<SoakFleet, 'sandboxes' | 'pidOf'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Milliseconds since the load test began. */
  readonly nowMs: () => number;
  /** Rollouts with a call under way at this moment. */
  readonly calling: () => ReadonlySet<string>;
  /** Resolves when a part that was killed is ready again, with the moment. */
  readonly backAtMs: (part: string) => Promise<number>;
  readonly sandboxdOf: (sandbox: LocalSandbox) => Promise<number | null>;
  readonly kill: (pid: number, signal: NodeJS.Signals) => void;
};

/** One kind of fault. Resolves with all that was hit; nothing where there was nothing to hit. */
export type Fault = {
  readonly name: string;
  readonly strike: (world: FaultWorld) => Promise<readonly FaultDone[]>;
};
