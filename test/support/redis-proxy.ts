import { once } from 'node:events';
import { rename } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { joinFates } from './join-fates.ts';

/** What is kept back: a script on its way to Redis, which then never runs, or its reply, when it has run. */
export type Held = 'request' | 'reply';

/** Stands between fleet state and whoever connects from now on; connections that are open already stay straight. */
export type RedisProxy = {
  /** From the next call of this script on, one connection is silent for good. Resolves when that moment has come. */
  hold(script: string, what: Held): Promise<void>;
  /** No byte comes or goes any more on what is open now, and nothing is closed: a peer that is gone without a word. */
  silence(): void;
  /** While it is set, nobody who comes is answered either. */
  mute(isMute: boolean): void;
  /** Whoever connects from now on reaches this socket; who is connected stays where he is. */
  redirect(socketPath: string): void;
  /** Gives the socket its place back. */
  close(): Promise<void>;
};

type Line = { isSilent: boolean };
type Plan = { readonly script: string; readonly what: Held; readonly reached: () => void };

/** Takes the place of the fleet's Redis socket. */
export async function standBeforeRedis(socketPath: string): Promise<RedisProxy> {
  const real = `${socketPath}.real`;
  await rename(socketPath, real);
  const sockets = new Set<Socket>();
  const lines = new Set<Line>();
  let target = real;
  let isMute = false;
  let plan: Plan | null = null;
  const take = (bytes: Buffer): Plan | null => {
    // A function of ours is called by the name of its script and the hash of all scripts.
    if (plan === null || !bytes.includes(`${plan.script}_`)) return null;
    const taken = plan;
    plan = null;
    return taken;
  };
  const server = createServer((client) => {
    const line = { isSilent: isMute };
    lines.add(line);
    relay(client, connect(target), sockets, take, line);
  });
  server.listen(socketPath);
  await once(server, 'listening');
  return {
    hold: (script, what) =>
      new Promise((resolve) => {
        plan = { script: script.replaceAll('-', '_'), what, reached: resolve };
      }),
    silence: () => {
      for (const line of lines) line.isSilent = true;
    },
    mute: (mute) => {
      isMute = mute;
    },
    redirect: (path) => {
      target = path;
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
      await rename(real, socketPath);
    },
  };
}

function relay(
  client: Socket,
  upstream: Socket,
  sockets: Set<Socket>,
  take: (bytes: Buffer) => Plan | null,
  line: Line,
): void {
  let held: Held | null = null;
  joinFates(client, upstream, sockets);
  client.on('data', (bytes) => {
    const taken = held === null ? take(bytes) : null;
    if (taken !== null) held = taken.what;
    if (held !== 'request' && !line.isSilent) upstream.write(bytes);
    taken?.reached();
  });
  upstream.on('data', (bytes) => {
    if (held === null && !line.isSilent) client.write(bytes);
  });
}
