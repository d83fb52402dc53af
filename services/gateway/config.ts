import { openObjectStore } from '#src/adapters/object-store/open-store.ts';
import type { MachineAmounts } from '#src/model/amounts.ts';
import { type ConfigReader, readConfig, type Variables } from '#src/platform/config.ts';
import {
  type EventLogSettings,
  readEventLogSettings,
  readRedisSettings,
  type RedisSettings,
} from '#src/platform/fleet-settings.ts';
import { readHostAmounts, readMemoryPercent } from '#src/platform/host-amounts.ts';
import { logLevels } from '#src/platform/logging.ts';
import { readPoolOverrides } from '#src/platform/pool-settings.ts';
import { readTimings } from '#src/platform/timing-settings.ts';
import type { PoolOverrides } from '#src/model/pool-places.ts';
import type { Timings, TimingSettings } from '#src/model/timings.ts';
import { readTraceSettings, type TraceSettings } from '#src/platform/trace-settings.ts';
import { readTrajectorySettings, type TrajectorySettings } from '#src/platform/trajectory-settings.ts';
import type { LogLevel } from '#src/ports/log.ts';
import type { OuterDoorSettings } from './http/outer-door.ts';

/** The gateway's settings. Sizes in bytes, times in milliseconds. */
export type GatewayConfig = {
  readonly host: string;
  readonly port: number;
  /** For callers beyond this machine, next to `host`; null: nowhere. */
  readonly outerDoor: OuterDoorSettings | null;
  /** Under which name other processes of the fleet reach this host; null: by its own address. */
  readonly advertisedHost: string | null;
  readonly fleet: string;
  readonly redis: RedisSettings;
  readonly environmentsFolder: string;
  /** What the operator allows environments; null: everything. */
  readonly policyFile: string | null;
  /** As its controllers have them: no task is opened that they could only start alone. */
  readonly poolOverrides: PoolOverrides;
  readonly fleetKeyFile: string;
  /** The socket of this machine's node process, where there is one; asked for what the host cannot enforce. */
  readonly nodeSocket: string | null;
  /** What one sandbox of this machine can be given; empty where sandboxes are elsewhere. */
  readonly machine: MachineAmounts;
  /** Null: no keys but the development key. */
  readonly keysFile: string | null;
  /** Opens everything from this very machine; null: there is none. */
  readonly developmentKey: string | null;
  readonly eventLog: EventLogSettings;
  /** Where kept rollouts and call texts go in addition to the event log's folder; null: nowhere. */
  readonly trajectories: TrajectorySettings | null;
  readonly maxFileBytes: number;
  readonly maxTenantRowBytes: number;
  readonly maxHeldRequests: number;
  readonly maxHeldBodyBytes: number;
  readonly drainDelayMs: number;
  readonly shutdownGraceMs: number;
  readonly timings: Timings;
  readonly replacedTimings: TimingSettings['replacedTimings'];
  /** What environments mean by `{secret: NAME}`: the variables `CORRAL_SECRET_NAME`. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Null: no spans are written. */
  readonly traces: TraceSettings | null;
  readonly exitWithParent: boolean;
  readonly logLevel: LogLevel;
};

const mebibyte = 1024 * 1024;
const listenPattern = /^(\[[0-9a-f:]+\]|[^:\s]+):\d{1,5}$/i;

/** Reads the environment variables; throws `ConfigMistakes` that names every mistake. */
export function readGatewayConfig(variables: Variables): GatewayConfig {
  return readConfig(variables, (reader) => {
    const listen = reader.text('CORRAL_LISTEN', {
      purpose: 'where to listen, host:port',
      fallback: '127.0.0.1:8080',
      pattern: listenPattern,
    });
    const { timings, replacedTimings } = readTimings(reader);
    return {
      ...splitListen(listen),
      outerDoor: readOuterDoor(reader),
      ...readPlaces(reader),
      ...readKeys(reader),
      ...readBounds(reader, timings),
      timings,
      replacedTimings,
      secrets: secretsOf(variables),
      traces: readTraceSettings(reader),
      exitWithParent: reader.flag('CORRAL_EXIT_WITH_PARENT'),
      logLevel: reader.choice('CORRAL_LOG_LEVEL', logLevels, { fallback: 'info' }),
    };
  });
}

function splitListen(listen: string): { readonly host: string; readonly port: number } {
  const colon = listen.lastIndexOf(':');
  return { host: listen.slice(0, colon).replaceAll(/[[\]]/g, ''), port: Number(listen.slice(colon + 1)) };
}

/** Keys of a file are valid there, and the development key is not. */
function readOuterDoor(reader: ConfigReader): OuterDoorSettings | null {
  const listen = reader.optional('CORRAL_OUTER_LISTEN');
  if (listen === null) return null;
  if (!listenPattern.test(listen)) reader.mistake(`CORRAL_OUTER_LISTEN is ${listen}: not host:port`);
  const certFile = reader.optional('CORRAL_OUTER_TLS_CERT_FILE');
  const keyFile = reader.optional('CORRAL_OUTER_TLS_KEY_FILE');
  if ((certFile === null) !== (keyFile === null))
    reader.mistake('set both of CORRAL_OUTER_TLS_CERT_FILE and CORRAL_OUTER_TLS_KEY_FILE, or neither');
  if (reader.optional('CORRAL_KEYS_FILE') === null)
    reader.mistake('CORRAL_OUTER_LISTEN needs CORRAL_KEYS_FILE: no other key is valid there');
  const tls = certFile === null || keyFile === null ? null : { certFile, keyFile };
  return { ...splitListen(listen), tls };
}

const secretPrefix = 'CORRAL_SECRET_';

function secretsOf(variables: Variables): ReadonlyMap<string, string> {
  const secrets = new Map<string, string>();
  for (const [name, value] of Object.entries(variables)) {
    if (name.startsWith(secretPrefix) && value) secrets.set(name.slice(secretPrefix.length), value);
  }
  return secrets;
}

function readPlaces(reader: ConfigReader) {
  return {
    advertisedHost: reader.optional('CORRAL_ADVERTISED_HOST'),
    fleet: reader.text('CORRAL_FLEET', { purpose: "the fleet's name", fallback: 'corral' }),
    redis: readRedisSettings(reader),
    environmentsFolder: reader.text('CORRAL_ENVIRONMENTS', { purpose: 'the folder of the environments' }),
    policyFile: reader.optional('CORRAL_POLICY'),
    poolOverrides: readPoolOverrides(reader),
    fleetKeyFile: reader.text('CORRAL_FLEET_KEY_FILE', { purpose: 'the file with the fleet key' }),
    ...readMachine(reader),
    eventLog: readEventLogSettings(reader),
    trajectories: readTrajectories(reader),
  };
}

/** Its mistakes are found at the start, and no store is asked then: one that is away must not stop a gateway. */
function readTrajectories(reader: ConfigReader): TrajectorySettings | null {
  const settings = readTrajectorySettings(reader);
  if (settings === null) return null;
  try {
    openObjectStore(settings.place, settings.variables);
    return settings;
  } catch (error) {
    reader.mistake(`CORRAL_TRAJECTORIES: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

function readMachine(reader: ConfigReader) {
  const nodeSocket = reader.optional('CORRAL_NODE_SOCKET');
  return { nodeSocket, machine: nodeSocket === null ? {} : readHostAmounts(readMemoryPercent(reader)) };
}

function readKeys(reader: ConfigReader) {
  const keysFile = reader.optional('CORRAL_KEYS_FILE');
  const developmentKey = reader.optional('CORRAL_DEVELOPMENT_KEY');
  if (keysFile === null && developmentKey === null) {
    reader.mistake(
      'nobody could use this gateway: set CORRAL_KEYS_FILE, or CORRAL_DEVELOPMENT_KEY on one machine',
    );
  }
  return { keysFile, developmentKey };
}

function readBounds(reader: ConfigReader, { requestHoldMs }: Timings) {
  const whole = (name: string, purpose: string, fallback: number, max: number) =>
    reader.whole(name, { purpose, fallback, min: 1, max });
  return {
    maxFileBytes: whole(
      'CORRAL_MAX_FILE_BYTES',
      'the largest file in or out',
      256 * mebibyte,
      64 * 1024 * mebibyte,
    ),
    // Two thousand open rollouts with rows of 128 KB; a quarter of Redis bounds it where that is less.
    maxTenantRowBytes: whole(
      'CORRAL_MAX_TENANT_ROW_BYTES',
      "bytes of the dataset rows of one tenant's open rollouts",
      256 * mebibyte,
      64 * 1024 * mebibyte,
    ),
    maxHeldRequests: whole('CORRAL_MAX_HELD_REQUESTS', 'requests held at once', 4_000, 100_000),
    maxHeldBodyBytes: whole(
      'CORRAL_MAX_HELD_BODY_BYTES',
      'bytes of their bodies',
      512 * mebibyte,
      16 * 1024 * mebibyte,
    ),
    // A probe every two seconds or so, the endpoints' way to every node and load balancer: seconds, and some to spare.
    drainDelayMs: reader.whole('CORRAL_DRAIN_DELAY_MS', {
      purpose: 'how long a gateway that was told to stop serves on',
      fallback: 15_000,
      min: 0,
      max: 600_000,
    }),
    // As long as the longest request is held, and a little more, so that it can still be answered.
    shutdownGraceMs: whole(
      'CORRAL_SHUTDOWN_GRACE_MS',
      'how long held requests may finish',
      requestHoldMs + 20_000,
      3_600_000,
    ),
  };
}
