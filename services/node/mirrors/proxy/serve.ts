import type { SendHandle } from 'node:child_process';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createServer } from '#src/platform/node-http.ts';
import type { MirrorDoubt } from '#src/protocol/sandboxd/mirror-tally.ts';
import { reachable } from '../addresses.ts';
import { proxyDescriptors, type StartOrder } from '../messages.ts';
import { planMirrors } from '../plan.ts';
import type { Usual } from '../proven.ts';
import { writeTally } from '../tally-file.ts';
import { forward } from './forward.ts';
import { createLookups } from './lookups.ts';
import { classOf, createProbe, type Probe, troubleIn } from './probe.ts';
import type { Reports } from './reports.ts';
import { createTally, type ProbeResult, type Tally } from './tally.ts';
import { createUpstream } from './upstream.ts';
import { createUsers, type User, type Users } from './users.ts';
import { whoseConnection } from './whose.ts';

/** A sandbox's requests have this long for their headers, and a connection may be idle as long. */
const idleMs = 30_000;

/** Requests that a connection may have sent before the first is answered. apt sends ten. */
const mostQueued = 16;

/** Serves at the door. Resolves with what the unproven mirrors say. */
export async function serve(order: StartOrder, door: SendHandle, reports: Reports): Promise<Asked> {
  const { mirrors, bounds, privateAddresses, graderId } = order;
  const plan = planMirrors(mirrors);
  const isOpen = reachable(privateAddresses);
  const lookup = createLookups(isOpen);
  const upstream = createUpstream(isOpen, lookup);
  // With connections of its own, so that requests that hold many do not make a probe late.
  const probe = createProbe(createUpstream(isOpen, lookup));
  const usual = new Map(Object.entries(order.usual));
  const hasFailed = async (mirror: string) =>
    troubleIn(await probe(mirror), usual.get(mirror) ?? null) !== null;
  const tally = createTally(order.tally, createWriter());
  const whoseIs = (socket: Socket) => whoseConnection(proxyDescriptors.connections, graderId, socket);
  const users = createUsers(bounds, whoseIs, tally);
  const forwarding = {
    plan,
    upstream,
    tally,
    probe: (mirror: string) => confirmed(mirror, hasFailed, reports.failed),
    onGood: reports.good,
  };
  const server = serverWith(users, tally, (user, request, response) => {
    reports.asked();
    return forward(forwarding, user, request, response);
  });
  server.listen(door);
  const asked = await askAll(order.unproven, probe, reports.good);
  for (const [mirror, status] of Object.entries(asked.usual)) usual.set(mirror, status);
  return asked;
}

function createWriter() {
  let writes = 0;
  return (tally: Parameters<typeof writeTally>[1]) => {
    writes += 1;
    writeTally(proxyDescriptors.tally, tally, writes);
  };
}

async function confirmed(
  mirror: string,
  failed: (mirror: string) => Promise<boolean>,
  ask: (mirror: string) => Promise<MirrorDoubt | null>,
): Promise<ProbeResult> {
  const hasFailed = await failed(mirror);
  return { hasFailed, doubt: hasFailed ? await ask(mirror) : null };
}

/** `trouble`: which mirror cannot be reached, and why; null: all can. `usual`: what the others answered, by class of status. */
type Asked = { readonly trouble: string | null; readonly usual: Usual };

async function askAll(
  mirrors: readonly string[],
  probe: Probe,
  onGood: (mirror: string) => void,
): Promise<Asked> {
  const troubles: string[] = [];
  const usual: Record<string, number> = {};
  const ask = async (mirror: string) => {
    const said = await probe(mirror);
    const trouble = troubleIn(said, null);
    if (trouble !== null) return void troubles.push(`${mirror} (${trouble})`);
    onGood(mirror);
    if (typeof said === 'number') usual[mirror] = classOf(said);
  };
  await Promise.all(mirrors.map(ask));
  return { trouble: troubles.length === 0 ? null : troubles.join(', '), usual };
}

type Answer = (user: User, request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** A connection, and its requests that are not answered yet: one after another. */
type Line = { readonly user: User; last: Promise<void>; queued: number };

function serverWith(users: Users, tally: Pick<Tally, 'refused'>, answer: Answer): Server {
  const lines = new WeakMap<Socket, Line>();
  const server = createServer((request, response) => {
    const line = lines.get(request.socket);
    if (line === undefined || line.queued >= mostQueued) {
      if (line !== undefined) tally.refused(line.user.whose);
      return void request.socket.destroy();
    }
    line.queued += 1;
    line.last = line.last
      .then(() => (request.socket.destroyed ? undefined : answer(line.user, request, response)))
      .finally(() => {
        line.queued -= 1;
      });
  });
  server.headersTimeout = idleMs;
  server.requestTimeout = idleMs;
  server.keepAliveTimeout = idleMs;
  server.prependListener('connection', (socket) => {
    // A reset is no error of this process. The server's own listener is not there at each stage: a tunnel has none.
    socket.on('error', () => undefined);
    const user = users.admit(socket);
    if (user === null) return void socket.destroy();
    lines.set(socket, { user, last: Promise.resolve(), queued: 0 });
  });
  server.on('clientError', (_error, socket) => void socket.destroy());
  server.on('connect', (_request, socket) => void socket.end(noTunnels, () => socket.destroy()));
  return server;
}

const noTunnels = 'HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
