import { availableParallelism } from 'node:os';
import {
  type EventLogSettings,
  readEventLogSettings,
  readRedisSettings,
  type RedisSettings,
} from '#src/platform/fleet-settings.ts';
import { logLevels } from '#src/platform/logging.ts';
import { type ConfigReader, readConfig, type Variables } from '#src/platform/config.ts';
import { readPoolOverrides } from '#src/platform/pool-settings.ts';
import { readTimings } from '#src/platform/timing-settings.ts';
import type { Timings, TimingSettings } from '#src/model/timings.ts';
import { readTraceSettings, type TraceSettings } from '#src/platform/trace-settings.ts';
import type { PoolOverrides } from '#src/model/pool-places.ts';
import type { LogLevel } from '#src/ports/log.ts';

/** Settings of the controller process, each from one environment variable. */
export type ControllerConfig = {
  /** Under which name other processes of the fleet reach this host; null: by its own address. */
  readonly advertisedHost: string | null;
  readonly fleet: string;
  readonly redis: RedisSettings;
  readonly engine: EngineConfig;
  readonly environmentsDir: string;
  /** What the operator allows environments; null: everything. */
  readonly policyFile: string | null;
  readonly fleetKeyFile: string;
  readonly eventLog: EventLogSettings;
  readonly startBudget: number;
  readonly timings: Timings;
  readonly replacedTimings: TimingSettings['replacedTimings'];
  readonly poolOverrides: PoolOverrides;
  /** `host:port` for /healthz, /readyz and /metrics; null: none. */
  readonly listen: { readonly host: string; readonly port: number } | null;
  /** Null: no spans are written. */
  readonly traces: TraceSettings | null;
  readonly exitWithParent: boolean;
  readonly logLevel: LogLevel;
};

/** What makes the sandboxes. */
export type EngineConfig =
  | { readonly kind: 'local'; readonly nodeSocket: string }
  | {
      readonly kind: 'kubernetes';
      /** The operator's file about the cluster: namespace, sandboxd, networks, placement. */
      readonly clusterFile: string;
      /** Null: `KUBECONFIG`, `~/.kube/config`, or the pod's own service account, as kubectl looks for them. */
      readonly kubeconfig: string | null;
    };

/** More starting sandboxes than this only wait for the engine, on any machine or cluster we know of. */
const maxStartBudget = 1_000;

/** Reads the controller's settings; throws `ConfigMistakes` naming all that is wrong. */
export function readControllerConfig(variables: Variables): ControllerConfig {
  return readConfig(variables, (read) => {
    const engine = engineOf(read);
    return { ...settingsOf(read, engine.kind), engine };
  });
}

const settingsOf = (read: ConfigReader, engine: EngineConfig['kind']): Omit<ControllerConfig, 'engine'> => ({
  advertisedHost: read.optional('CORRAL_ADVERTISED_HOST'),
  fleet: read.text('CORRAL_FLEET', {
    purpose: 'the name of the fleet, 1 to 63 of a-z, 0-9 and "-"',
    pattern: /^[a-z0-9][a-z0-9-]{0,62}$/,
  }),
  redis: readRedisSettings(read),
  environmentsDir: read.text('CORRAL_ENVIRONMENTS', { purpose: 'the folder with the environments, YAML' }),
  policyFile: read.optional('CORRAL_POLICY'),
  fleetKeyFile: read.text('CORRAL_FLEET_KEY_FILE', {
    purpose: 'the file with the fleet key; it is made if it is not there',
  }),
  eventLog: readEventLogSettings(read),
  startBudget: read.whole('CORRAL_START_BUDGET', {
    purpose: 'how many sandboxes of the fleet may be starting at once',
    fallback: engine === 'local' ? defaultStartBudget(availableParallelism()) : clusterStartBudget,
    min: 1,
    max: maxStartBudget,
  }),
  ...readTimings(read),
  poolOverrides: readPoolOverrides(read),
  listen: listenAddress(read),
  traces: readTraceSettings(read),
  exitWithParent: read.flag('CORRAL_EXIT_WITH_PARENT'),
  logLevel: read.choice('CORRAL_LOG_LEVEL', logLevels, { fallback: 'info' }),
});

function engineOf(read: ConfigReader): EngineConfig {
  const kind = read.choice('CORRAL_PROVIDER', ['local', 'kubernetes'], { fallback: 'local' });
  if (kind === 'local') {
    return {
      kind,
      nodeSocket: read.text('CORRAL_NODE_SOCKET', { purpose: 'the unix socket of the node process' }),
    };
  }
  return {
    kind,
    clusterFile: read.text('CORRAL_CLUSTER_FILE', {
      purpose: 'the file about the cluster that sandboxes run on',
    }),
    kubeconfig: read.optional('CORRAL_KUBECONFIG'),
  };
}

/** A start is mostly CPU (a Node process comes up), with some waiting in it: two a core keep all cores busy. */
export const defaultStartBudget = (cores: number) => Math.max(4, 2 * cores);

/**
 * A node starts some eight pods a second, and what is asked for beyond that waits in its kubelet: enough for fifteen
 * nodes to be busy at once, and little enough that one node is done with all of it inside a start timeout.
 */
const clusterStartBudget = 128;

function listenAddress(read: ConfigReader): ControllerConfig['listen'] {
  const text = read.optional('CORRAL_CONTROLLER_LISTEN');
  if (text === null) return null;
  const match = /^(?<host>.+):(?<port>\d{1,5})$/.exec(text);
  const { host, port } = match?.groups ?? {};
  if (host !== undefined && Number(port) < 65_536) return { host, port: Number(port) };
  read.mistake(`CORRAL_CONTROLLER_LISTEN is ${JSON.stringify(text)}, not host:port such as 127.0.0.1:9100`);
  return null;
}
