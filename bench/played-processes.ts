import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '#cli/fleet/free-port.ts';
import { developmentKeyIn } from '#cli/fleet/keys.ts';
import { openLogFile } from '#cli/fleet/log-file.ts';
import type { PartSpec } from '#cli/fleet/part-process.ts';
import { createPartRecords } from '#cli/fleet/part-records.ts';
import {
  consolePart,
  controllerPart,
  gatewayPart,
  nodePart,
  type PartsOptions,
  type PoolOverrides,
  redisPart,
} from '#cli/fleet/parts.ts';
import { openStateFolder } from '#cli/fleet/state-folder.ts';
import { supervise, type SupervisedPart } from '#cli/fleet/supervise.ts';
import { bundleServices } from '#infra/services/bundle-services.ts';
import { formatKeyFile } from '#src/access/key-file.ts';
import { createLocalProvider, type LocalProvider } from '#src/adapters/local/provider.ts';
import { connectFleetState, type FleetState } from '#src/adapters/redis/fleet-state.ts';
import { loadPermitted } from '#src/environments/load-environments.ts';
import type { EnvironmentCatalog } from '#src/model/environment.ts';
import { systemClock } from '#src/platform/clock.ts';
import { ensureFleetKeys, type FleetTokens, openFleetTokens } from '#src/platform/fleet-tokens.ts';
import { systemRandom } from '#src/platform/random.ts';
import { processMs } from './processors.ts';

export type Role = 'redis' | 'controller' | 'gateway';
/** Milliseconds of processor. */
export type Spent = Readonly<Record<Role, number>>;

/**
 * Redis, controller and gateway as a fleet on one machine has them, each a process of its own, over sandboxes that are only
 * played. They are started one by one, so that fleet state can be filled before anybody reads it.
 */
export type PlayedProcesses = AsyncDisposable & {
  readonly state: FleetState;
  readonly provider: LocalProvider;
  readonly tokens: FleetTokens;
  readonly catalog: EnvironmentCatalog;
  readonly gatewayUrl: string;
  readonly apiKey: string;
  begin(...roles: readonly ('controller' | 'gateway')[]): Promise<void>;
  /** A console over the gateway; resolves to its address. */
  beginConsole(): Promise<string>;
  /** Throws where it does not run. */
  pidOf(role: Role): number;
  /** What each that runs has had of the processors so far; 0 for who does not. */
  spent(): Promise<Spent>;
};

export type PlayedOptions = {
  readonly environmentsDir: string;
  readonly pool: PoolOverrides;
  /** Beside the usual ones of the gateway. */
  readonly gatewayEnv?: Readonly<Record<string, string>>;
  /** Of each command. */
  readonly outputBytes?: number;
  readonly say: (line: string) => void;
};

/** A process of 3,000 environments reads them for a while. */
const startDeadlineMs = 180_000;

export async function startPlayedProcesses(options: PlayedOptions): Promise<PlayedProcesses> {
  const folder = openStateFolder(await mkdtemp(join(tmpdir(), 'corral-played-')));
  const { environmentsDir, pool, gatewayEnv = {}, outputBytes = 0, say } = options;
  const parts: PartsOptions = {
    folder,
    engine: { kind: 'local', payloadDir: folder.payload },
    servicesDir: (await bundleServices()).dir,
    environmentsDir,
    gatewayPort: await freePort(0),
    controllerPort: await freePort(0),
    developmentKey: developmentKeyIn(folder.developmentKeyFile, systemRandom),
    pool,
    keepRecords: false,
  };
  await writeFile(folder.keysFile, formatKeyFile([]), { mode: 0o600 });
  await ensureFleetKeys(folder.fleetKeyFile);
  const running: SupervisedPart[] = [];
  const start = async (spec: PartSpec) => {
    const supervision = {
      clock: systemClock,
      records: createPartRecords(folder.parts),
      logOf: () => openLogFile(join(folder.logs, `${spec.name}.jsonl`), systemClock),
      onEvent: (event: { readonly kind: string }) =>
        event.kind === 'ready' ? undefined : say(`${spec.name} ${event.kind}`),
      startDeadlineMs,
    };
    running.push(await supervise(spec, supervision));
  };
  await start(redisPart(parts));
  const node = nodePart(parts);
  const env = { ...node.env, BENCH_OUTPUT_BYTES: String(outputBytes) };
  await start({ ...node, argv: [process.execPath, playedNode], env });
  const state = await connectFleetState({
    url: folder.redisSocket,
    fleet: 'local',
    commandTimeoutMs: 60_000,
    onTrouble: (error) => say(error.message),
  });
  await state.adoptRedis('empty');
  const provider = createLocalProvider({ socketPath: folder.nodeSocket, clock: systemClock });
  const pidOrNull = (role: Role) => running.find(({ name }) => name === role)?.pid() ?? null;
  const spentBy = async (role: Role) => {
    const pid = pidOrNull(role);
    return pid === null ? 0 : processMs(pid);
  };
  const specs = { controller: controllerPart(parts), gateway: gatewayPart(parts) };
  const { gateway } = specs;
  return {
    state,
    provider,
    tokens: await openFleetTokens(folder.fleetKeyFile),
    catalog: await loadPermitted(environmentsDir, null),
    gatewayUrl: `http://127.0.0.1:${parts.gatewayPort}`,
    apiKey: parts.developmentKey,
    begin: async (...roles) => {
      const all = { ...specs, gateway: { ...gateway, env: { ...gateway.env, ...gatewayEnv } } };
      await Promise.all(roles.map((role) => start(all[role])));
    },
    beginConsole: async () => {
      const port = await freePort(0);
      await start(consolePart(parts, { port, code: 'bench', codeUntilMs: 0 }));
      return `http://127.0.0.1:${port}`;
    },
    pidOf: (role) => {
      const pid = pidOrNull(role);
      if (pid === null) throw new Error(`no ${role} runs`);
      return pid;
    },
    spent: async () => ({
      redis: await spentBy('redis'),
      controller: await spentBy('controller'),
      gateway: await spentBy('gateway'),
    }),
    [Symbol.asyncDispose]: async () => {
      await provider.close();
      await state.close();
      for (const part of running.toReversed()) await part.stop();
      await rm(folder.root, { recursive: true, force: true });
    },
  };
}

const playedNode = join(import.meta.dirname, 'played-node/main.ts');
