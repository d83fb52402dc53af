import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadCluster } from '#src/environments/load-cluster.ts';
import { loadPermitted } from '#src/environments/load-environments.ts';
import type { Timings } from '#src/model/timings.ts';
import { systemClock } from '#src/platform/clock.ts';
import { ensureFleetKeys } from '#src/platform/fleet-tokens.ts';
import { systemRandom } from '#src/platform/random.ts';
import { takeFleetLock } from './fleet-lock.ts';
import { freePort } from './free-port.ts';
import { developmentKeyIn, readKeys, writeKeys } from './keys.ts';
import { openLogFile } from './log-file.ts';
import { createPartRecords, removeLeftovers } from './part-records.ts';
import {
  type ConsoleOptions,
  consolePart,
  controllerPart,
  type Engine,
  gatewayPart,
  nodePart,
  type OuterDoor,
  type PartsOptions,
  type PoolOverrides,
  redisPart,
} from './parts.ts';
import { requirePrograms } from './needed-programs.ts';
import { programs } from './programs.ts';
import { listLocalSandboxes, type LocalSandbox } from './sandbox-list.ts';
import { defaultStateFolder, openStateFolder, type StateFolder } from './state-folder.ts';
import { type PartEvent, supervise, type SupervisedPart, type Supervision } from './supervise.ts';

export type FleetOptions = {
  /** Folder of environment files. */
  readonly environmentsDir: string;
  /** What the operator allows environments, a file; default: everything. */
  readonly policyFile?: string;
  /** Default `.corral` in the working directory. One fleet at a time on one folder. */
  readonly stateDir?: string;
  /** Where the gateway listens: at `outerDoor`, else on 127.0.0.1; 0 (default) takes any free port. */
  readonly port?: number;
  /** For callers beyond this machine; this machine then has a port of its own. */
  readonly outerDoor?: Omit<OuterDoor, 'port'>;
  readonly pool?: PoolOverrides;
  /** Durations that differ from production's; default: what CORRAL_TIMINGS says. */
  readonly timings?: Partial<Timings>;
  /** Where payloads are kept, by content; any number of fleets may share it. Default: in the state folder. */
  readonly payloadDir?: string;
  /**
   * Where data that environments build is kept, by digest; any number of fleets may share it. Default: what CORRAL_DATA_DIR
   * says, else in the state folder.
   */
  readonly dataDir?: string;
  /** Keeps the records of rollouts on disk; default false: they end with the fleet, the event log stays. */
  readonly keepRecords?: boolean;
  /** With a console on this port, or on any if that one is taken; default: without. */
  readonly consolePort?: number;
  readonly onEvent?: (event: FleetEvent) => void;
};

export type FleetEvent = PartEvent | { readonly kind: 'leftovers'; readonly parts: readonly string[] };

/** The processes of a fleet, as child processes of this one, kept running. */
export type RunningFleet = {
  readonly gatewayUrl: string;
  /** For callers beyond this machine; null: they have none. */
  readonly outerUrl: string | null;
  /** The controller's /readyz and /metrics. */
  readonly controllerUrl: string;
  /** Accepted from this machine only; allows everything. */
  readonly apiKey: string;
  readonly stateDir: string;
  /** Where a browser on this machine logs in, once and within two minutes; null: it has no console. */
  readonly consoleUrl: string | null;
  /** The bundles that its services run from. */
  readonly servicesDir: string;
  /** Ends every part in order, within seconds; idempotent. */
  stop(): Promise<void>;
  /** SIGKILL to every part, for a process that must end now. */
  kill(): void;
};

/** A whole fleet on this machine: redis, node, controller and gateway. */
export type Fleet = RunningFleet & {
  readonly nodeSocket: string;
  sandboxes(): Promise<readonly LocalSandbox[]>;
};

/** A cluster that sandboxes run on. */
export type ClusterAccess = {
  /** The operator's file about it. */
  readonly file: string;
  /** Default: as kubectl finds it. */
  readonly kubeconfig?: string;
};

/** A first start builds the payload and may wait for a slow disk. */
const startDeadlineMs = 60_000;

/**
 * Starts the fleet and resolves when every part answers ready. Throws a CommandError that says what happened, whose
 * fault it is and what to do; then nothing is left running.
 */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  requirePrograms('local');
  const folder = openStateFolder(options.stateDir ?? defaultStateFolder);
  const running = await start(folder, options, async () => {
    const payload = await programs.buildPayload(resolve(options.payloadDir ?? folder.payload));
    const dataDir = options.dataDir ?? process.env['CORRAL_DATA_DIR'] ?? folder.data;
    return { kind: 'local', payloadDir: payload.dir, dataDir: resolve(dataDir) };
  });
  return { ...running, nodeSocket: folder.nodeSocket, sandboxes: () => listLocalSandboxes(folder.node) };
}

/**
 * As {@link startFleet}, with redis, controller and gateway on this machine and sandboxes as pods of a cluster, whose
 * addresses this machine must reach. Sandboxes that the fleet's end leaves behind end themselves, at their expiry.
 */
export async function startFleetOnCluster(
  options: FleetOptions,
  cluster: ClusterAccess,
): Promise<RunningFleet> {
  requirePrograms('kubernetes');
  const folder = openStateFolder(options.stateDir ?? defaultStateFolder);
  const clusterFile = resolve(cluster.file);
  const kubeconfig = cluster.kubeconfig === undefined ? null : resolve(cluster.kubeconfig);
  return start(folder, options, async () => {
    await loadCluster(clusterFile);
    return { kind: 'kubernetes', clusterFile, kubeconfig };
  });
}

async function start(
  folder: StateFolder,
  options: FleetOptions,
  prepareEngine: () => Promise<Engine>,
): Promise<RunningFleet> {
  const lock = takeFleetLock(folder.lock);
  const parts: SupervisedPart[] = [];
  const stop = onlyOnce(async () => {
    for (const part of parts.toReversed()) await part.stop();
    rmSync(folder.fleetFile, { force: true });
    lock.release();
  });
  try {
    const onEvent = options.onEvent ?? (() => undefined);
    const leftovers = await removeLeftovers(folder.parts, systemClock);
    if (leftovers.length > 0) onEvent({ kind: 'leftovers', parts: leftovers });
    const partsOptions = await prepare(folder, options, prepareEngine);
    const supervision = supervisionOf(folder, onEvent);
    for (const wave of wavesOf(partsOptions)) {
      const started = await Promise.allSettled(wave.map((spec) => supervise(spec, supervision)));
      parts.push(...started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
      for (const result of started) if (result.status === 'rejected') throw result.reason;
    }
    const { consolePort } = options;
    const site =
      consolePort === undefined ? null : await startConsole(partsOptions, consolePort, supervision);
    if (site !== null) parts.push(site.part);
    const fleet = { ...describeFleet(folder, partsOptions), consoleUrl: site?.url ?? null };
    writeFileSync(folder.fleetFile, JSON.stringify({ gatewayUrl: fleet.gatewayUrl, pid: process.pid }));
    return { ...fleet, stop, kill: () => parts.forEach((part) => part.kill()) };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What needs nothing of another starts at the same time; what a wave needs is in the waves before it. */
const wavesOf = (options: PartsOptions) => [
  [redisPart(options), ...(options.engine.kind === 'local' ? [nodePart(options)] : [])],
  [controllerPart(options), gatewayPart(options)],
];

/** The time that a person takes from the terminal to the browser. */
const codeMs = 2 * 60_000;
const codeLength = 40;

/** On the usual port, or on another one if that is taken, also by a process that was faster. */
async function startConsole(
  options: PartsOptions,
  usualPort: number,
  supervision: Supervision,
): Promise<{ readonly part: SupervisedPart; readonly url: string }> {
  const startOn = async (port: number) => {
    const codeUntilMs = systemClock.nowMs() + codeMs;
    const plan = { port: await freePort(port), code: systemRandom.text(codeLength), codeUntilMs };
    const part = await supervise(consolePart(options, plan), supervision);
    return { part, url: consoleUrlOf(plan) };
  };
  return startOn(usualPort).catch(() => startOn(0));
}

/** Everything the parts need to find: keys, payload, ports. Throws on mistakes in environments before any part starts. */
async function prepare(
  folder: StateFolder,
  options: FleetOptions,
  prepareEngine: () => Promise<Engine>,
): Promise<PartsOptions> {
  const environmentsDir = resolve(options.environmentsDir);
  const policyFile = options.policyFile === undefined ? null : resolve(options.policyFile);
  await loadPermitted(environmentsDir, policyFile);
  await ensureFleetKeys(folder.fleetKeyFile);
  writeKeys(folder.keysFile, readKeys(folder.keysFile));
  const outerDoor = options.outerDoor
    ? { ...options.outerDoor, port: await freePort(options.port ?? 0, options.outerDoor.host) }
    : null;
  return {
    folder,
    engine: await prepareEngine(),
    servicesDir: await programs.servicesDir(),
    environmentsDir,
    policyFile,
    gatewayPort: await freePort(outerDoor === null ? (options.port ?? 0) : 0),
    outerDoor,
    controllerPort: await freePort(0),
    developmentKey: developmentKeyIn(folder.developmentKeyFile, systemRandom),
    pool: options.pool ?? {},
    ...(options.timings && { timings: options.timings }),
    keepRecords: options.keepRecords ?? false,
  };
}

function supervisionOf(folder: StateFolder, onEvent: (event: PartEvent) => void): Supervision {
  return {
    clock: systemClock,
    records: createPartRecords(folder.parts),
    logOf: (part) => openLogFile(join(folder.logs, `${part}.jsonl`), systemClock),
    onEvent,
    startDeadlineMs,
  };
}

function describeFleet(
  folder: StateFolder,
  options: PartsOptions,
): Omit<RunningFleet, 'consoleUrl' | 'stop' | 'kill'> {
  return {
    gatewayUrl: `http://127.0.0.1:${options.gatewayPort}`,
    outerUrl: outerUrlOf(options.outerDoor ?? null),
    controllerUrl: `http://127.0.0.1:${options.controllerPort}`,
    apiKey: options.developmentKey,
    stateDir: folder.root,
    servicesDir: options.servicesDir,
  };
}

/** The code is in the part of an address that no server and no log gets. */
const consoleUrlOf = ({ port, code }: ConsoleOptions): string => `http://127.0.0.1:${port}/#code=${code}`;

function outerUrlOf(door: OuterDoor | null): string | null {
  if (door === null) return null;
  const host = door.host.includes(':') ? `[${door.host}]` : door.host;
  return `${door.tls === null ? 'http' : 'https'}://${host}:${door.port}`;
}

function onlyOnce(work: () => Promise<void>): () => Promise<void> {
  let begun: Promise<void> | null = null;
  return () => (begun ??= work());
}
