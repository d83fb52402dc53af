import { hostname, networkInterfaces } from 'node:os';
import type { Clock } from '../ports/clock.ts';
import type { EventKeeper, EventKeepers } from '../ports/fleet/watch.ts';
import { every, type Loop } from './every.ts';
import own from '../../package.json' with { type: 'json' };

/** As operators know this process: in a cluster the host is its pod. The version is Corral's. */
export const thisProcess = { host: hostname(), pid: process.pid, version: own.version } as const;

type Listening = { readonly host: string; readonly port: number };

/**
 * Where other processes of the fleet reach this one, `http://10.0.0.7:8080`. Who listens at every address names the first
 * that leads out of this machine, a pod's own; `advertised` (CORRAL_ADVERTISED_HOST) where that is the wrong one.
 */
export function ownAddress({ host, port }: Listening, advertised: string | null): string {
  const name = advertised ?? (isEverywhere(host) ? (firstAddress() ?? '127.0.0.1') : host);
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

const isEverywhere = (host: string) => host === '0.0.0.0' || host === '::';

function firstAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outer = all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  return (outer.find(({ family }) => family === 'IPv4') ?? outer[0])?.address;
}

/** Who asks for a story takes a process for gone after three times as long. */
const tellMs = 5_000;

/** As the story of a rollout names this process. */
export const ownHost = `${thisProcess.host}, process ${thisProcess.pid}`;

type TellKeeperOptions = {
  readonly keepers: Pick<EventKeepers, 'tell'>;
  /** The folder's own name, or of a process without one the process'. */
  readonly log: string;
  readonly keeper: Omit<EventKeeper, 'host'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Words that nobody heard; the next one is the same. */
  readonly onError: (thrown: unknown) => void;
};

/** Says where the events of this process are told, until the signal aborts. */
export function tellKeeper({ keepers, log, keeper, ...loop }: TellKeeperOptions): Loop {
  return every({ intervalMs: tellMs, ...loop }, () => keepers.tell(log, { ...keeper, host: ownHost }));
}
