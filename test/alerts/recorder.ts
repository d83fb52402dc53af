import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { alertOf } from '../../infra/monitoring/rules/rules.ts';
import type { AlertName } from '../../infra/monitoring/rules/rules.ts';

type Posted = {
  readonly labels: Readonly<Record<string, string>>;
  /** In the past for an alert that has ended. */
  readonly endsAt: string;
};

/** Stands where Alertmanager stands: hears what begins, what goes on and what has ended. */
export type Recorder = {
  readonly port: number;
  /** Names of what fires now, each once. */
  firing(): readonly AlertName[];
  /** Begins a new list: names of what has fired from now on, with the seconds after which it did. */
  listen(): ReadonlyMap<AlertName, number>;
  stop(): Promise<void>;
};

/** As Alertmanager has it: without a word an alert ends at its `endsAt`, some seconds after it was last told. */
export async function startRecorder(): Promise<Recorder> {
  const ends = new Map<string, { readonly name: AlertName; readonly atMs: number }>();
  let fired = new Map<AlertName, number>();
  let sinceMs = Date.now();
  const heard = ({ labels, endsAt }: Posted) => {
    const name = labels['alertname'] as AlertName;
    const atMs = Date.parse(endsAt);
    ends.set(JSON.stringify(labels), { name, atMs });
    if (atMs > Date.now() && !fired.has(name)) fired.set(name, (Date.now() - sinceMs) / 1000);
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
    const now = [...ends.values()].filter(({ atMs }) => atMs > Date.now());
    return [...new Set(now.map(({ name }) => name))];
  };
  return {
    port: (server.address() as AddressInfo).port,
    firing,
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
