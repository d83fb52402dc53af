import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type AlertName, alertOf } from '#infra/monitoring/rules/rules.ts';

type Posted = {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** In the past for an alert that has ended. */
  readonly endsAt: string;
};

/** An alert as it was told first, and from when until when: `endMs` of one that goes on is not yet over. */
export type ToldAlert = Pick<Posted, 'labels' | 'annotations'> & {
  readonly name: AlertName;
  readonly fromMs: number;
  readonly endMs: number;
};

/** Stands where Alertmanager stands: hears what begins, what goes on and what has ended. */
export type Recorder = {
  readonly port: number;
  /** Names of what fires now, each once. */
  firing(): readonly AlertName[];
  /** Begins a new list: names of what has fired from now on, with the seconds after which it did. */
  listen(): ReadonlyMap<AlertName, number>;
  /** Each alert with its labels that was ever told, in the order of their beginning. */
  told(): readonly ToldAlert[];
  stop(): Promise<void>;
};

/** As Alertmanager has it: without a word an alert ends at its `endsAt`, some seconds after it was last told. */
export async function startRecorder(): Promise<Recorder> {
  const ends = new Map<string, ToldAlert>();
  let fired = new Map<AlertName, number>();
  let sinceMs = Date.now();
  const heard = ({ labels, annotations, endsAt }: Posted) => {
    const name = labels['alertname'] as AlertName;
    const endMs = Date.parse(endsAt);
    const first = ends.get(JSON.stringify(labels)) ?? { name, labels, annotations, fromMs: Date.now() };
    ends.set(JSON.stringify(labels), { ...first, endMs });
    if (endMs > Date.now() && !fired.has(name)) fired.set(name, (Date.now() - sinceMs) / 1000);
  };
  const server = createServer((request, response) => {
    void postedIn(request).then((alerts) => {
      for (const alert of alerts) heard(alert);
      response.end('{"status":"success"}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const firing = () => {
    const now = [...ends.values()].filter(({ endMs }) => endMs > Date.now());
    return [...new Set(now.map(({ name }) => name))];
  };
  return {
    port: (server.address() as AddressInfo).port,
    firing,
    told: () => [...ends.values()],
    listen: () => {
      sinceMs = Date.now();
      fired = new Map();
      return fired;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const postedIn = async (request: IncomingMessage): Promise<readonly Posted[]> =>
  JSON.parse(await text(request)) as readonly Posted[];

/** Of what fired, what blames somebody else. */
export const blaming = (names: readonly AlertName[], blame: string): readonly AlertName[] =>
  names.filter((name) => alertOf(name).blame !== blame);
