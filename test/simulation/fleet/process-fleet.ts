import { callStore } from '#src/adapters/redis/call-store.ts';
import { claimStore } from '#src/adapters/redis/claim-store.ts';
import { controlStore } from '#src/adapters/redis/control-store.ts';
import { dependencyStore } from '#src/adapters/redis/dependency-store.ts';
import { environmentStore } from '#src/adapters/redis/environment-store.ts';
import type { FleetState } from '#src/adapters/redis/fleet-state.ts';
import { gradeStore } from '#src/adapters/redis/grade-store.ts';
import { guardStore } from '#src/adapters/redis/guard-store.ts';
import { lifecycleStore } from '#src/adapters/redis/lifecycle-store.ts';
import type { Messages } from '#src/adapters/redis/connection.ts';
import { poolStore } from '#src/adapters/redis/pool-store.ts';
import { recoveryStore } from '#src/adapters/redis/recovery-store.ts';
import { setupStore } from '#src/adapters/redis/setup-store.ts';
import type { RunScript } from '#src/adapters/redis/script-runner.ts';
import { fleetKeys } from './real-scripts.ts';

export type ProcessFleet = Pick<
  FleetState,
  | 'claims'
  | 'calls'
  | 'setups'
  | 'lifecycle'
  | 'grades'
  | 'guards'
  | 'controls'
  | 'dependencies'
  | 'pool'
  | 'environments'
  | 'recovery'
>;

/** The product's own fleet state for one process, over the simulated way to Redis. */
export function processFleet(run: RunScript, messages: Messages): ProcessFleet {
  return {
    claims: claimStore(run, fleetKeys, messages, Number.MAX_SAFE_INTEGER),
    calls: callStore(run, Number.MAX_SAFE_INTEGER),
    setups: setupStore(run),
    lifecycle: lifecycleStore(run),
    grades: gradeStore(run),
    guards: guardStore(run),
    controls: controlStore(run),
    dependencies: dependencyStore(run),
    pool: poolStore(run, fleetKeys, messages),
    environments: environmentStore(run),
    recovery: recoveryStore(run),
  };
}
