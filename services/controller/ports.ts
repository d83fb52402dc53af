import type { FleetEvent } from '#src/ports/event-log.ts';
import type { SandboxTokens } from '#src/platform/tokens.ts';
import type { Timings } from '#src/model/timings.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { CallStore } from '#src/ports/fleet/calls.ts';
import type { ClaimStore } from '#src/ports/fleet/claims.ts';
import type { DependencyStore } from '#src/ports/fleet/dependencies.ts';
import type { LifecycleStore } from '#src/ports/fleet/lifecycle.ts';
import type { FleetMemory } from '#src/ports/fleet/server.ts';
import type { PoolStore } from '#src/ports/fleet/pool.ts';
import type { RecoveryStore } from '#src/ports/fleet/recovery.ts';
import type { EnvironmentStore } from '#src/ports/fleet/registry.ts';
import type { LaunchQueue } from '#src/ports/launch-queue.ts';
import type { Log } from '#src/ports/log.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { Random } from '#src/ports/random.ts';
import type { SandboxLink } from '#src/ports/sandbox-link.ts';
import type { SandboxProvider } from '#src/ports/sandbox-provider.ts';
import type { Tracer } from '#src/ports/tracer.ts';

/** All that a controller needs from the world. */
export type ControllerPorts = {
  readonly recovery: RecoveryStore;
  readonly calls: CallStore;
  readonly dependencies: Pick<DependencyStore, 'read'>;
  readonly pool: PoolStore;
  readonly lifecycle: LifecycleStore;
  readonly memory: FleetMemory;
  readonly claims: Pick<ClaimStore, 'find'>;
  readonly environments: EnvironmentStore;
  readonly provider: SandboxProvider;
  readonly link: Pick<SandboxLink, 'identity' | 'prepare' | 'probe' | 'attach' | 'settled' | 'onUnsettled'>;
  readonly queue: Pick<LaunchQueue, 'add' | 'addMissing' | 'work'>;
  readonly tokens: SandboxTokens;
  readonly clock: Clock;
  readonly timings: Timings;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  readonly log: Log;
  /** What goes to the event log. */
  readonly record: (event: FleetEvent) => void;
};
