import { once } from 'node:events';
import { rename } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';

/**
 * What happens to the next request that carries out a call (`PUT /calls/…`):
 *
 *   passes          nothing
 *   reset           the connection breaks when the whole request is through, before the first byte of the answer
 *   lost_answer     the same, when sandboxd has answered: the command has ended and nobody heard
 *   stalled         the first bytes of the answer arrive, and then no more
 */
export type Trouble = 'passes' | 'reset' | 'lost_answer' | 'stalled';

/** Stands between the gateways and one sandbox, in the place of its socket. */
export type SandboxProxy = {
  /** For the next `times` requests; all later ones pass. */
  arm(trouble: Trouble, times?: number): void;
  /** From now on nobody listens: connections are refused, and those that are open end. */
  refuse(): Promise<void>;
  /** Listens again. */
  accept(): Promise<void>;
  /** Calls that came through, troubled or not. */
  seen(): number;
  close(): Promise<void>;
};

/** Takes the place of a sandbox's socket. Connections that are open already are not led through it. */
export async function standBefore(stateDir: string, sandbox: string): Promise<SandboxProxy> {
  const path = join(stateDir, 'node', 'sandboxes', sandbox, 'run', 'd.sock');
  const real = `${path}.real`;
  await rename(path, real);
  const sockets = new Set<Socket>();
  const plan: Trouble[] = [];
  let seen = 0;
  const next = (): Trouble => {
    seen += 1;
    return plan.shift() ?? 'passes';
  };
  const open = async (): Promise<Server> => {
    const server = createServer((client) => relay(client, connect({ path: real }), sockets, next));
    server.listen(path);
    await once(server, 'listening');
    return server;
  };
  let server = await open();
  const end = async () => {
    const ended = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await ended;
  };
  return {
    arm: (trouble, times = 1) => void plan.push(...Array.from({ length: times }, () => trouble)),
    refuse: end,
    accept: async () => {
      server = await open();
    },
    seen: () => seen,
    close: async () => {
      if (server.listening) await end();
    },
  };
}

const startsCall = /^PUT \/calls\//;

function relay(client: Socket, upstream: Socket, sockets: Set<Socket>, next: () => Trouble): void {
  let trouble: Trouble = 'passes';
  for (const socket of [client, upstream]) {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      client.destroy();
      upstream.destroy();
    });
  }
  client.on('data', (bytes) => {
    if (startsCall.test(bytes.toString('latin1'))) trouble = next();
    upstream.write(bytes);
    // A turn later sandboxd has read it: what is destroyed at once would take its bytes along.
    if (trouble === 'reset') setImmediate(() => client.destroy());
  });
  upstream.on('data', (bytes) => {
    if (trouble === 'lost_answer') client.destroy();
    else if (trouble === 'stalled') client.write(bytes.subarray(0, 40));
    else client.write(bytes);
  });
}
