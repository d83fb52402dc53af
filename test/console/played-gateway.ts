import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { failureToHttp } from '#src/failure/http.ts';
import { Failure } from '#src/failure/failure.ts';
import type { FleetAnswer } from '#src/protocol/native/fleet.ts';

/*
 * A gateway that knows made runs and no fleet: runs of 10,000 rollouts and hostile ones are made in a second. The real one is read by
 * test/e2e/console.test.ts.
 */

export const playedKey = 'corral_made_key';

/** A file of a log, counted in lines in place of bytes. */
const linesAtOnce = 5_000;
const file = '0001.jsonl';

export async function playGateway(runs: ReadonlyMap<string, readonly string[]>) {
  const server = createServer((request, response) => answer(runs, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function answer(
  runs: ReadonlyMap<string, readonly string[]>,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const url = new URL(request.url ?? '/', 'http://gateway');
  const [, , section, run = '', part] = url.pathname.split('/').map(decodeURIComponent);
  if (request.headers.authorization !== `Bearer ${playedKey}`) return refuse(response, 'unauthorized');
  if (section === 'key') return send(response, { key: 'made', tenant: 'lab', scopes: ['watch', 'truth'] });
  if (section === 'fleet') return send(response, madeFleet);
  if (section === 'runs' && run === '') return send(response, { runs: [...runs.keys()] });
  const lines = runs.get(run);
  if (section !== 'runs' || lines === undefined) return refuse(response, 'rollout_unknown');
  if (part === 'events') return sendEvents(response, lines, url.searchParams);
  return send(response, reportOf(run));
}

function send(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, code: 'unauthorized' | 'rollout_unknown'): void {
  const { status, body } = failureToHttp('native', new Failure(code, 'it is not known here'));
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendEvents(response: ServerResponse, lines: readonly string[], query: URLSearchParams): void {
  const from = Number(query.get('from') ?? 0);
  const page = query.has('file') ? lines.slice(from, from + linesAtOnce) : [];
  const readTo = from + page.length;
  const isAll = !query.has('file') || readTo >= lines.length;
  const keeper = {
    keeper: 'gateway one',
    heard_at_ms: Date.now(),
    log: 'one',
    told: isAll ? 'all' : 'some',
    why: null,
    ...(query.has('file')
      ? { read_to: readTo }
      : { files: [{ name: file, bytes: lines.length, first_at_ms: 0 }] }),
  };
  const end = JSON.stringify({ kind: 'keepers', keepers: [keeper] });
  response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(`${[...page, end].join('\n')}\n`);
}

const reportOf = (run: string) => ({
  run,
  state: 'open',
  rollouts: 384,
  open: 2,
  scored: 380,
  discarded: 2,
  calls: {},
  blame: {},
  codes: {},
  mean: 0.61,
  waves: [0.4, 0.5, 0.8].map((mean, wave) => ({
    wave,
    groups: 6,
    groups_hurt: 0,
    rollouts: 48,
    rollouts_lost: 0,
    signal_lost: 0,
    mean,
  })),
  groups: [],
  sandbox_seconds: { scored: 1, discarded: 0, ungraded: 0 },
  fleet_idle_share: null,
});

export const madeFleet: FleetAnswer = {
  fleet: 'made',
  age_ms: 100,
  next_in_ms: 900,
  sees: 'own tenant',
  rollouts: { open: 12, calls_running: 3 },
  waiting: {
    rollouts: 2,
    oldest_ms: 1_500,
    runs: [],
    others: { runs: 0, waiting: 0 },
    runs_left_out: 0,
  },
  sandboxes: { all: 20, starting: 4, starting_at_most: 8, leaving: 0 },
  templates: [
    {
      template: 'a'.repeat(64),
      environment: 'code-edit',
      ready: 4,
      starting: 4,
      held: 12,
      waiting: 2,
      announced: 0,
      breaker: 'open',
      last_failure: { code: 'start_failed', blame: 'infrastructure', ago_ms: 4_000 },
    },
  ],
  templates_left_out: 0,
  launches: [],
  verdicts: {
    of_ms: 600_000,
    scorable: 40,
    discarded: 2,
    blame: { infrastructure: 2 },
    codes: { sandbox_lost: 2 },
  },
  processes: [
    {
      kind: 'gateway',
      state: 'serving',
      host: null,
      pid: null,
      version: '0.2.0',
      age_ms: 90_000,
      heard_ms: 100,
      in_hand: {},
      at_most: {},
    },
  ],
  redis: {
    version: '7.2.4',
    maxmemory_policy: 'noeviction',
    append_only: true,
    used_bytes: 20_000_000,
    limit_bytes: 1_000_000_000,
    reading_ms: 2,
  },
};
