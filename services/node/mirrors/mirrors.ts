import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Mirrors } from '#src/model/mirrors.ts';
import { createServer } from '#src/platform/node-http.ts';
import { type Account, type Bounds, createAccount } from './account.ts';
import type { Reachable } from './addresses.ts';
import { openDoor } from './door.ts';
import { forward } from './forward.ts';
import { createLoad } from './load.ts';
import { planMirrors } from './plan.ts';
import { createProbe } from './probe.ts';
import { createTally, type Tally } from './tally.ts';
import { createUpstream } from './upstream.ts';
import { type Whose, whoseConnection } from './whose.ts';

/** The package registries of all sandboxes of this node. */
export type MirrorDoors = {
  /** Answers for its mirrors in the network of a sandbox, until the signal. Rejects if the listener cannot be made. */
  open(client: MirrorClient, signal: AbortSignal): Promise<void>;
  close(): void;
};

/** A sandbox. `pid`: a process in its network. `runOf`: the run that it works for now. */
export type MirrorClient = {
  readonly pid: number;
  /** This machine's id of its grader. */
  readonly graderId: number;
  readonly mirrors: Mirrors;
  readonly tallyFile: string;
  readonly runOf: () => string;
};

export type MirrorOptions = { readonly isOpen: Reachable; readonly bounds: Bounds };

/** A sandbox's requests have this long for their headers, and a connection may be idle as long. */
const idleMs = 30_000;

export function createMirrorDoors({ isOpen, bounds }: MirrorOptions): MirrorDoors {
  const upstream = createUpstream(isOpen);
  // With connections of their own, so that no sandbox that holds many makes a probe late.
  const probes = createUpstream(isOpen);
  const load = createLoad();
  return {
    open: async ({ pid, graderId, mirrors, tallyFile, runOf }, signal) => {
      const plan = planMirrors(mirrors);
      const probe = createProbe(plan, probes);
      const tally = createTally({ file: tallyFile, load, runOf });
      const users = createUsers(bounds, (socket) => whoseConnection(pid, graderId, socket), tally);
      const server = serverWith(users, (request, response) => {
        const { whose, account } = users.of(request.socket);
        return forward({ plan, upstream, account, tally, whose, probe }, request, response);
      });
      const door = await openDoor(pid, signal);
      server.listen(door);
      signal.addEventListener('abort', () => closeServer(server), { once: true });
      if (signal.aborted) closeServer(server);
    },
    close: () => {
      upstream.close();
      probes.close();
    },
  };
}

type User = { readonly whose: Whose; readonly account: Account };

/** Who made each connection. The policy and the grader have bounds of their own, so that none of both uses up the other's. */
type Users = {
  /** Whether there is room for it. */
  admit(socket: Socket): boolean;
  of(socket: Socket): User;
};

function createUsers(bounds: Bounds, whoseIs: (socket: Socket) => Whose, tally: Tally): Users {
  const accounts = { policy: createAccount(bounds), grader: createAccount(bounds) };
  const open = { policy: 0, grader: 0 };
  const known = new WeakMap<Socket, Whose>();
  return {
    admit: (socket) => {
      const whose = whoseIs(socket);
      known.set(socket, whose);
      open[whose] += 1;
      socket.once('close', () => {
        open[whose] -= 1;
      });
      if (open[whose] <= bounds.connections) return true;
      tally.refused(whose);
      return false;
    },
    of: (socket) => {
      const whose = known.get(socket) ?? 'policy';
      return { whose, account: accounts[whose] };
    },
  };
}

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

function serverWith(users: Users, answer: Answer): Server {
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.headersTimeout = idleMs;
  server.requestTimeout = idleMs;
  server.keepAliveTimeout = idleMs;
  server.prependListener('connection', (socket) => void (users.admit(socket) || socket.destroy()));
  server.on('clientError', (_error, socket) => void socket.destroy());
  server.on('connect', (_request, socket) => void socket.end(noTunnels));
  return server;
}

const noTunnels = 'HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

function closeServer(server: Server): void {
  server.close();
  server.closeAllConnections();
}
