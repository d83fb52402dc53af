import type { AliasStore, CatalogStore, EnvironmentStore } from '#src/ports/fleet/registry.ts';
import type { CallStore } from '#src/ports/fleet/calls.ts';
import type { ClaimStore } from '#src/ports/fleet/claims.ts';
import type { ControlStore } from '#src/ports/fleet/controls.ts';
import type { DependencyStore } from '#src/ports/fleet/dependencies.ts';
import type { GatewayStore } from '#src/ports/fleet/gateways.ts';
import type { GuardStore } from '#src/ports/fleet/guards.ts';
import type { GradeStore } from '#src/ports/fleet/grades.ts';
import type { LifecycleStore } from '#src/ports/fleet/lifecycle.ts';
import type { PoolStore } from '#src/ports/fleet/pool.ts';
import type { FleetMemory, StateHealth, StateServer } from '#src/ports/fleet/server.ts';
import type { RecoveryStore } from '#src/ports/fleet/recovery.ts';
import type { EventKeepers, FleetWatch } from '#src/ports/fleet/watch.ts';
import type { ReportStore } from '#src/ports/fleet/reports.ts';
import type { SetupStore } from '#src/ports/fleet/setup.ts';
import { aliasStore, catalogStore, environmentStore } from './environment-store.ts';
import { callStore } from './call-store.ts';
import { claimStore } from './claim-store.ts';
import { asFailure } from '#src/failure/failure.ts';
import {
  Connection,
  openSubscriber,
  type ConnectionOptions,
  subscribe,
  type Messages,
} from './connection.ts';
import { eventKeeperStore, watchStore } from './watch-store.ts';
import { controlStore } from './control-store.ts';
import { dependencyStore } from './dependency-store.ts';
import { gatewayStore } from './gateway-store.ts';
import { guardStore } from './guard-store.ts';
import { gradeStore } from './grade-store.ts';
import { keysOf, type Keys } from './keys.ts';
import { lifecycleStore } from './lifecycle-store.ts';
import { memoryStore } from './memory-store.ts';
import { poolStore } from './pool-store.ts';
import { classifyTrouble } from './redis-trouble.ts';
import { recoveryStore } from './recovery-store.ts';
import { Replicas } from './replicas.ts';
import { reportStore } from './report-store.ts';
import { setupStore } from './setup-store.ts';
import { prepareScripts, type RunScript, scriptsOver } from './script-runner.ts';
import type { Timings } from '#src/model/timings.ts';
import type { Log } from '#src/ports/log.ts';
import { type RetryDeps, retrying } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';

export type FleetStateOptions = ConnectionOptions & {
  /** Its name is part of every key: fleets share a Redis without seeing each other. */
  readonly fleet: string;
  /** Most bytes that dataset rows of one tenant's open rollouts may have; never more than a quarter of what Redis may hold. Only who claims gives it. */
  readonly rowBytesOfTenant?: number;
  /** Default: production's. */
  readonly timings?: Timings;
  /** Stands for `scripts/lib/time.lua`; only tests, whose clock is stepped, give it. */
  readonly timeLua?: string;
};

/**
 * `adopted`: from now on this Redis holds the fleet. `already`: it did. `refused`: it holds a fleet of an earlier life
 * of Redis, which may have forgotten something.
 */
type Adoption = 'adopted' | 'already' | 'refused';

export type FleetState = {
  readonly claims: ClaimStore;
  readonly calls: CallStore;
  readonly setups: SetupStore;
  readonly lifecycle: LifecycleStore;
  readonly grades: GradeStore;
  readonly guards: GuardStore;
  readonly controls: ControlStore;
  readonly dependencies: DependencyStore;
  readonly gateways: GatewayStore;
  readonly pool: PoolStore;
  readonly reports: ReportStore;
  readonly watch: FleetWatch;
  readonly environments: EnvironmentStore;
  readonly catalogs: CatalogStore;
  readonly aliases: AliasStore;
  readonly eventKeepers: EventKeepers;
  readonly recovery: RecoveryStore;
  readonly memory: FleetMemory;
  /**
   * Makes the Redis at the other end the fleet's; until then everything else throws `recovering`. `empty` does so only
   * if it holds no fleet; `persisted` takes what it has kept over a restart, and is right only where Redis writes every
   * change to disk.
   */
  adoptRedis(holding: 'empty' | 'persisted'): Promise<Adoption>;
  /** Resolves when Redis answers and holds this fleet; throws `state_unavailable` or `recovering`. */
  ping(): Promise<void>;
  /** Whether it can be used now, and what Redis says of itself. Never throws. */
  health(): Promise<StateHealth>;
  close(): Promise<void>;
};

/** Fleet state in Redis, over one connection for scripts, one for messages, and one that waits for replicas. */
export async function connectFleetState(options: FleetStateOptions): Promise<FleetState> {
  const keys = keysOf(options.fleet);
  const connection = await Connection.open(options);
  const disconnects = [() => connection.close()];
  const disconnect = () => {
    for (const each of disconnects) each();
  };
  try {
    const { timings, timeLua } = options;
    const library = { keys, ...(timings && { timings }), ...(timeLua === undefined ? {} : { timeLua }) };
    const waiting = await Connection.open(options);
    disconnects.push(() => waiting.close());
    const replicas = new Replicas(waiting, { ...options, channel: keys('replicated') });
    const run = await prepareScripts(connection, replicas, library, options.onScript);
    const subscriber = await openSubscriber(options);
    disconnects.push(() => subscriber.disconnect());
    const messages = await subscribe(subscriber, [keys('wakeUps'), keys('work')]);
    const memory = memoryStore(connection.client, keys);
    const rowBytes = await rowShare(memory, options.rowBytesOfTenant);
    return {
      ...assemble(run, keys, messages, rowBytes, disconnect),
      gateways: gatewayStore(run, keys, {
        subscribe: (channel) => subscriber.subscribe(channel),
        reconnect: () => {
          if (subscriber.status === 'ready') subscriber.disconnect(true);
        },
      }),
      memory,
      watch: watchStore(run, connection.client),
      health: () => healthOf(run, connection.describe()),
    };
  } catch (thrown) {
    disconnect();
    throw classifyTrouble(thrown);
  }
}

/** Four tenants at once can fill Redis with their rows, one cannot; of its set-up one may have half as much. */
async function rowShare(memory: FleetMemory, wantedBytes = Number.MAX_SAFE_INTEGER): Promise<number> {
  const { limitBytes } = await memory.usage();
  return limitBytes === null ? wantedBytes : Math.min(wantedBytes, Math.floor(limitBytes / 4));
}

function assemble(
  run: RunScript,
  keys: Keys,
  messages: Messages,
  rowBytesOfTenant: number,
  disconnect: () => void,
): Omit<FleetState, 'gateways' | 'memory' | 'watch' | 'health'> {
  return {
    claims: claimStore(run, keys, messages, rowBytesOfTenant),
    calls: callStore(run, Math.floor(rowBytesOfTenant / 2)),
    setups: setupStore(run),
    lifecycle: lifecycleStore(run),
    grades: gradeStore(run),
    guards: guardStore(run),
    controls: controlStore(run),
    dependencies: dependencyStore(run),
    pool: poolStore(run, keys, messages),
    reports: reportStore(run),
    environments: environmentStore(run),
    catalogs: catalogStore(run),
    aliases: aliasStore(run),
    eventKeepers: eventKeeperStore(run),
    recovery: recoveryStore(run),
    adoptRedis: (holding) => scriptsOver(run).ask('adopt', { holding }),
    ping: async () => {
      await touch(run);
    },
    close: async () => disconnect(),
  };
}

/** Any script would do, and this one of none costs nothing. Not PING: only a script is refused where this Redis does not hold the fleet. */
const touch = (run: RunScript) => scriptsOver(run).ask('draining', { limit: 0 });

async function healthOf(run: RunScript, described: Promise<StateServer | null>): Promise<StateHealth> {
  try {
    await touch(run);
    return { state: 'up', reason: null, server: await described };
  } catch (thrown) {
    const { code, message } = asFailure(thrown);
    const state = code === 'recovering' ? 'recovering' : 'away';
    return { state, reason: message, server: await described };
  }
}

/**
 * As `connectFleetState`, for a process that is started before its Redis, or while that is away or refuses its password:
 * it waits, and says so. Throws what waiting does not fix, such as `UnfitRedis`.
 */
export async function awaitFleetState(
  options: FleetStateOptions,
  deps: RetryDeps & { readonly log: Log },
): Promise<FleetState> {
  const { clock, log } = deps;
  const beganMs = clock.monotonicMs();
  const onAgain = (thrown: unknown) => {
    const waitedS = Math.round((clock.monotonicMs() - beganMs) / 1_000);
    const { redis } = asFailure(thrown).evidence;
    log.warn('waiting for Redis', { waited_s: waitedS, reason: String(redis) });
  };
  const connect = () => connectFleetState(options);
  const state = await retrying(deps, retryPolicies.fleetState, connect, { onAgain });
  log.info('Redis is there', { ...(await state.health()).server });
  return state;
}
