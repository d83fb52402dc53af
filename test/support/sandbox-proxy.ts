import { once } from 'node:events';
import { rename } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { joinFates } from './join-fates.ts';

/**
 * What happens to the next request that carries out a call (`PUT /calls/…`) or, where asked for, binds (`POST /bind`):
 *
 *   passes          nothing
 *   reset           the connection breaks when the whole request is through, before the first byte of the answer
 *   lost_answer     the same, when sandboxd has answered: the command has ended and nobody heard
 *   stalled         the first bytes of the answer arrive, and no more until it flows again
 */
export type Trouble = 'passes' | 'reset' | 'lost_answer' | 'stalled';

export type Troubled = 'call' | 'bind';

/** Stands between the gateways and one sandbox, in the place of its socket. */
export type SandboxProxy = {
  /** For the next `times` requests; all later ones pass. */
  arm(trouble: Trouble, times?: number): void;
  /** From now on nobody listens: connections are refused, and those that are open end. */
  refuse(): Promise<void>;
  /** Listens again. */
  accept(): Promise<void>;
  /** Answers that have begun and are stalled: their commands have ended. */
  stalled(): number;
  /** The rest of every answer that is stalled arrives. */
  flow(): void;
  /** Requests of that kind that came through, troubled or not. */
  seen(): number;
  close(): Promise<void>;
};

/** Takes the place of a sandbox's socket. Connections that are open already are not led through it. */
export async function standBefore(
  stateDir: string,
  sandbox: string,
  troubled: Troubled = 'call',
): Promise<SandboxProxy> {
  const path = join(stateDir, 'node', 'sandboxes', sandbox, 'run', 'd.sock');
  const real = `${path}.real`;
  await rename(path, real);
  const sockets = new Set<Socket>();
  const plan: Trouble[] = [];
  const stalled: (() => void)[] = [];
  let seen = 0;
  const troubleOf = (request: string): Trouble | null => {
    if (!beginsWith[troubled].test(request)) return null;
    seen += 1;
    return plan.shift() ?? 'passes';
  };
  const open = async (): Promise<Server> => {
    const server = createServer((client) => {
      const upstream = connect({ path: real });
      joinFates(client, upstream, sockets);
      relay(client, upstream, troubleOf, (flow) => stalled.push(flow));
    });
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
    stalled: () => stalled.length,
    flow: () => {
      for (const flow of stalled.splice(0)) flow();
    },
    seen: () => seen,
    close: async () => {
      if (server.listening) await end();
    },
  };
}

const beginsWith: Readonly<Record<Troubled, RegExp>> = { call: /^PUT \/calls\//, bind: /^POST \/bind / };

/** Enough for a status line, too little for an answer. */
const firstBytes = 40;

function relay(
  client: Socket,
  upstream: Socket,
  troubleOf: (request: string) => Trouble | null,
  onStalled: (flow: () => void) => void,
): void {
  let trouble: Trouble = 'passes';
  let kept: Buffer[] = [];
  client.on('data', (bytes) => {
    trouble = troubleOf(bytes.toString('latin1')) ?? trouble;
    upstream.write(bytes);
    // A turn later sandboxd has read it: what is destroyed at once would take its bytes along.
    if (trouble === 'reset') setImmediate(() => client.destroy());
  });
  const flow = () => {
    trouble = 'passes';
    client.write(Buffer.concat(kept));
    kept = [];
  };
  upstream.on('data', (bytes) => {
    if (trouble === 'lost_answer') client.destroy();
    else if (trouble !== 'stalled') client.write(bytes);
    else if (kept.push(bytes) === 1) {
      client.write(bytes.subarray(0, firstBytes));
      kept = [bytes.subarray(firstBytes)];
      onStalled(flow);
    }
  });
}
