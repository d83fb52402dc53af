import { type Dispatcher, Pool } from 'undici';
import type { ClusterTls } from './credentials.ts';

/**
 * The connections to one API server, HTTP/2 where it speaks it: two for calls, which carry 100 requests each at once,
 * and two for watches, whose long bodies must not hold up calls (HTTP/2 needs one of them, HTTP/1.1 one for each watch).
 * Never more than these four.
 */
export type Connections = {
  forCalls(tls: ClusterTls): Dispatcher;
  forWatches(tls: ClusterTls): Dispatcher;
  close(): Promise<void>;
};

const connectionsForCalls = 2;
const connectionsForWatches = 2;

/** In the same network or the next: a connection that takes longer is not coming. */
const connectTimeoutMs = 5_000;

/** Below the idle limits of load balancers in front of API servers, of which 60 s is the shortest in common use. */
const keepAliveMs = 45_000;

export type ConnectionOptions = {
  readonly server: string;
  /** An answer that has not begun after this is not waited for, and the connection is probed. */
  readonly answerTimeoutMs: number;
  /** A watch that says nothing for so long is taken for cut; bookmarks come about once a minute. */
  readonly watchSilenceMs: number;
};

type Open = { readonly tls: ClusterTls; readonly calls: Pool; readonly watches: Pool };

export function createConnections(options: ConnectionOptions): Connections {
  let open: Open | null = null;

  const of = (tls: ClusterTls): Open => {
    if (open !== null && sameTls(open.tls, tls)) return open;
    if (open !== null) retire(open);
    open = {
      tls,
      calls: pool(options, tls, connectionsForCalls, options.answerTimeoutMs),
      watches: pool(options, tls, connectionsForWatches, options.watchSilenceMs),
    };
    return open;
  };

  return {
    forCalls: (tls) => of(tls).calls,
    forWatches: (tls) => of(tls).watches,
    close: async () => {
      await Promise.all([open?.calls.destroy(), open?.watches.destroy()]);
      open = null;
    },
  };
}

function pool(
  { server, answerTimeoutMs }: ConnectionOptions,
  tls: ClusterTls,
  connections: number,
  bodyTimeout: number,
): Pool {
  return new Pool(new URL(server).origin, {
    connections,
    allowH2: true,
    connect: { ...tls, timeout: connectTimeoutMs },
    keepAliveTimeout: keepAliveMs,
    headersTimeout: answerTimeoutMs,
    bodyTimeout,
  });
}

// Calls under way are answered; a watch would hold its connection for minutes, and goes on where it was over a new one.
function retire({ calls, watches }: Open): void {
  void calls.close();
  void watches.destroy();
}

const compared = ['ca', 'cert', 'key', 'servername', 'rejectUnauthorized'] as const;

function sameTls(one: ClusterTls, other: ClusterTls): boolean {
  return one === other || compared.every((part) => String(one[part]) === String(other[part]));
}
