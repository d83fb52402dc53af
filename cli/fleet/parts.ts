import { connect } from 'node:net';
import { join } from 'node:path';
import { Value } from 'typebox/value';
import { Client } from 'undici';
import { keptFolder } from '#src/adapters/event-log/kept-log.ts';
import type { Timings } from '#src/model/timings.ts';
import { ConsoleHealth } from '#src/protocol/console/session.ts';
import type { PartName, PartSpec } from './part-process.ts';
import type { StateFolder } from './state-folder.ts';

export type PartsOptions = {
  readonly folder: StateFolder;
  readonly engine: Engine;
  /** The services, each bundled: `NAME.mjs`. */
  readonly servicesDir: string;
  readonly environmentsDir: string;
  /** Null, the default: none. */
  readonly policyFile?: string | null;
  readonly gatewayPort: number;
  /** Where callers beyond this machine connect; null, the default: nowhere. */
  readonly outerDoor?: OuterDoor | null;
  readonly controllerPort: number;
  readonly developmentKey: string;
  /** Pool sizes that stand before those of the environments' files, by environment name. */
  readonly pool: PoolOverrides;
  /** Durations that differ from production's. */
  readonly timings?: Partial<Timings>;
  /** Redis writes everything to disk, so that the records of rollouts outlive the fleet. */
  readonly keepRecords: boolean;
};

/** `code`: what the first log-in shows in place of the development key, until then. */
export type ConsoleOptions = { readonly port: number; readonly code: string; readonly codeUntilMs: number };

export type OuterDoor = {
  readonly host: string;
  readonly port: number;
  /** Null: what passes is not encrypted. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
};

/** What makes the sandboxes; paths are absolute. */
export type Engine =
  /** `payloadDir`: what is mounted into sandboxes, built and complete. `dataDir`: where what environments build is kept; default: with node. */
  | { readonly kind: 'local'; readonly payloadDir: string; readonly dataDir?: string }
  /** `clusterFile`: what the operator says of the cluster; `kubeconfig` null: as kubectl finds it. */
  | { readonly kind: 'kubernetes'; readonly clusterFile: string; readonly kubeconfig: string | null };

export type PoolOverrides = Readonly<Record<string, { readonly minReady?: number; readonly max?: number }>>;

const nodeArgv = ({ servicesDir }: PartsOptions, service: PartName, flags: readonly string[] = []) =>
  [process.execPath, ...flags, join(servicesDir, `${service}.mjs`)] as const;

/**
 * A controller reads the pods of a whole fleet and keeps little of each. Node's usual room for what is young (three times
 * 16 MB, never given back) makes that 300 MiB for 5,000 pods; with the least of it, it is 175. One machine has no such many
 * sandboxes, and there the room saves a launch half a millisecond of clearing up.
 */
const controllerFlagsOfPods = ['--max-semi-space-size=2'];

/** Bound of Redis on one machine; at it, it refuses writes rather than forget rollouts. */
const redisMaxMemory = '1gb';

/** Seconds, not minutes: who presses Ctrl-C waits for the prompt. Held requests are given up; a trainer repeats them. */
const serviceGraceMs = 3_000;
/** A little less, so that it ends by itself and writes the last events. */
const gatewayOwnGraceMs = 2_500;
/** Node removes every sandbox first: processes, mounts, cgroups, folders. */
const nodeGraceMs = 10_000;

export function redisPart({ folder, keepRecords }: PartsOptions): PartSpec {
  const options = {
    port: '0',
    unixsocket: folder.redisSocket,
    unixsocketperm: '700',
    dir: folder.redis,
    save: '',
    appendonly: keepRecords ? 'yes' : 'no',
    maxmemory: redisMaxMemory,
    'maxmemory-policy': 'noeviction',
    logfile: '',
  };
  return {
    name: 'redis',
    argv: ['redis-server', ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])],
    env: {},
    isReady: (signal) => redisAnswers(folder.redisSocket, signal),
    deathSignal: 'KILL',
    stopGraceMs: serviceGraceMs,
  };
}

export function nodePart(options: PartsOptions): PartSpec {
  const { folder } = options;
  return {
    name: 'node',
    argv: nodeArgv(options, 'node'),
    env: variables(options),
    isReady: (signal) => httpAnswers('http://node/health', signal, folder.nodeSocket),
    deathSignal: 'TERM',
    stopGraceMs: nodeGraceMs,
  };
}

export function controllerPart(options: PartsOptions): PartSpec {
  const listen = `127.0.0.1:${options.controllerPort}`;
  return {
    name: 'controller',
    argv: nodeArgv(options, 'controller', options.engine.kind === 'kubernetes' ? controllerFlagsOfPods : []),
    env: { ...variables(options), CORRAL_CONTROLLER_LISTEN: listen },
    isReady: (signal) => httpAnswers(`http://${listen}/readyz`, signal),
    deathSignal: 'KILL',
    stopGraceMs: serviceGraceMs,
  };
}

export function gatewayPart(options: PartsOptions): PartSpec {
  const listen = `127.0.0.1:${options.gatewayPort}`;
  return {
    name: 'gateway',
    argv: nodeArgv(options, 'gateway'),
    env: {
      ...variables(options),
      CORRAL_LISTEN: listen,
      CORRAL_KEYS_FILE: options.folder.keysFile,
      CORRAL_DEVELOPMENT_KEY: options.developmentKey,
      ...outerDoorVariables(options.outerDoor ?? null),
      // No load balancer has to hear of it first, and who presses Ctrl-C waits for the prompt.
      CORRAL_DRAIN_DELAY_MS: '0',
      CORRAL_SHUTDOWN_GRACE_MS: String(gatewayOwnGraceMs),
    },
    isReady: (signal) => httpAnswers(`http://${listen}/readyz`, signal),
    deathSignal: 'KILL',
    stopGraceMs: serviceGraceMs,
  };
}

export function consolePart(options: PartsOptions, { port, code, codeUntilMs }: ConsoleOptions): PartSpec {
  const { folder } = options;
  const listen = `127.0.0.1:${port}`;
  return {
    name: 'console',
    argv: nodeArgv(options, 'console'),
    env: {
      CORRAL_CONSOLE_LISTEN: listen,
      CORRAL_GATEWAY_URL: `http://127.0.0.1:${options.gatewayPort}`,
      CORRAL_CONSOLE_STATE_DIR: folder.root,
      CORRAL_CONSOLE_KEPT_DIR: keptFolder(folder.events),
      CORRAL_CONSOLE_CODE: code,
      CORRAL_CONSOLE_CODE_UNTIL_MS: String(codeUntilMs),
      CORRAL_DEVELOPMENT_KEY: options.developmentKey,
      CORRAL_EXIT_WITH_PARENT: '1',
    },
    isReady: (signal, pid) => isConsole(`http://${listen}`, signal, pid),
    deathSignal: 'KILL',
    stopGraceMs: serviceGraceMs,
  };
}

function outerDoorVariables(door: OuterDoor | null): Readonly<Record<string, string>> {
  if (door === null) return {};
  const { host, port, tls } = door;
  return {
    CORRAL_OUTER_LISTEN: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    ...(tls && { CORRAL_OUTER_TLS_CERT_FILE: tls.certFile, CORRAL_OUTER_TLS_KEY_FILE: tls.keyFile }),
  };
}

/** The variables of every service; each reads what it needs. */
function variables({
  folder,
  engine,
  environmentsDir,
  policyFile = null,
  pool,
  timings,
}: PartsOptions): Readonly<Record<string, string>> {
  return {
    CORRAL_FLEET: 'local',
    CORRAL_REDIS: folder.redisSocket,
    ...engineVariables(engine, folder),
    CORRAL_ENVIRONMENTS: environmentsDir,
    ...(policyFile === null ? {} : { CORRAL_POLICY: policyFile }),
    CORRAL_FLEET_KEY_FILE: folder.fleetKeyFile,
    CORRAL_EVENT_LOG_DIR: folder.events,
    CORRAL_POOL_OVERRIDES: JSON.stringify(pool),
    ...(timings === undefined ? {} : { CORRAL_TIMINGS: JSON.stringify(timings) }),
    CORRAL_EXIT_WITH_PARENT: '1',
  };
}

function engineVariables(engine: Engine, folder: StateFolder): Readonly<Record<string, string>> {
  if (engine.kind === 'local') {
    return {
      CORRAL_PROVIDER: 'local',
      CORRAL_NODE_STATE_DIR: folder.node,
      CORRAL_NODE_SOCKET: folder.nodeSocket,
      CORRAL_PAYLOAD_DIR: engine.payloadDir,
      ...(engine.dataDir === undefined ? {} : { CORRAL_DATA_DIR: engine.dataDir }),
    };
  }
  return {
    CORRAL_PROVIDER: 'kubernetes',
    CORRAL_CLUSTER_FILE: engine.clusterFile,
    ...(engine.kubeconfig === null ? {} : { CORRAL_KUBECONFIG: engine.kubeconfig }),
  };
}

/** Whether redis-server on this unix socket answers PING: it also refuses commands while it loads its file. */
function redisAnswers(socketPath: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: socketPath });
    signal.addEventListener('abort', () => socket.destroy(new Error('no answer in time')), { once: true });
    socket.on('error', reject);
    socket.on('close', () => resolve(false));
    socket.on('connect', () => socket.write('PING\r\n'));
    socket.once('data', (answer) => {
      resolve(answer.toString('latin1').startsWith('+PONG'));
      socket.destroy();
    });
  });
}

/** Whether a GET answers 2xx. With `socketPath` the address's host is only a name. */
/** Another fleet’s console may have taken the port first, and answers there, too. */
async function isConsole(origin: string, signal: AbortSignal, pid: number): Promise<boolean> {
  const client = new Client(origin);
  try {
    const { body } = await client.request({ method: 'GET', path: '/healthz', signal });
    const health = await body.json();
    return Value.Check(ConsoleHealth, health) && health.pid === pid;
  } finally {
    await client.destroy();
  }
}

async function httpAnswers(url: string, signal: AbortSignal, socketPath?: string): Promise<boolean> {
  const { origin, pathname } = new URL(url);
  const client = new Client(origin, socketPath === undefined ? {} : { socketPath });
  try {
    const { statusCode, body } = await client.request({ method: 'GET', path: pathname, signal });
    await body.dump();
    return statusCode >= 200 && statusCode < 300;
  } finally {
    await client.destroy();
  }
}
