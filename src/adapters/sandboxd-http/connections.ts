import { type Dispatcher, Pool, buildConnector } from 'undici';
import type { SandboxAddress } from '#src/model/rollout.ts';
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { LinkError } from '#src/ports/sandbox-link.ts';

type PoolOptions = { readonly connectTimeoutMs: number };

/** A pool in use; `release` when the answer has been read. */
export type Lease = { readonly dispatcher: Dispatcher; readonly release: () => void };

/** Below sandboxd's own 75 s, so that it is never the one to close a connection that we are about to use. */
const keepAliveMs = 60_000;
/** An address without requests for so long: its rollout is over, or thinks for a while and pays for a new connection. */
const unusedMs = 60_000;
const sweepEveryMs = 15_000;
/** Addresses that one process speaks to at once. Beyond, the ones unused for longest are closed early. */
const mostPools = 4096;
/** Parallel requests to one sandbox; each holds a connection while its command runs. */
const connectionsPerAddress = 64;

type Entry = { readonly pool: Pool; leases: number; usedAtMs: number };

export type Pools = {
  lease(address: SandboxAddress): Lease;
  /** A pool of its own for one request, which is sure to be sent over a new connection. */
  fresh(address: SandboxAddress): Lease;
  close(): Promise<void>;
};

/** Keep-alive connections by address. */
export function createPools(options: PoolOptions): Pools {
  const entries = new Map<SandboxAddress, Entry>();
  const sweep = () => closeUnused(entries, performance.now() - unusedMs);
  const timer = setInterval(sweep, sweepEveryMs).unref();

  return {
    lease(address) {
      const entry = entries.get(address) ?? { pool: openPool(address, options), leases: 0, usedAtMs: 0 };
      // Last in the map is last used: the first ones are those to close.
      entries.delete(address);
      entries.set(address, entry);
      entry.leases += 1;
      entry.usedAtMs = performance.now();
      if (entries.size > mostPools) closeUnused(entries, entry.usedAtMs, entries.size - mostPools);
      return { dispatcher: entry.pool, release: () => (entry.leases -= 1) };
    },
    fresh(address) {
      const pool = openPool(address, options);
      return { dispatcher: pool, release: () => discard(pool) };
    },
    async close() {
      clearInterval(timer);
      const pools = [...entries.values()].map((entry) => entry.pool.destroy());
      entries.clear();
      await Promise.all(pools);
    },
  };
}

function openPool(address: SandboxAddress, { connectTimeoutMs }: PoolOptions): Pool {
  const socketPath = address.startsWith('unix:') ? address.slice('unix:'.length) : null;
  return new Pool(socketPath === null ? address : 'http://sandbox', {
    ...(socketPath === null
      ? { connectTimeout: connectTimeoutMs }
      : { connect: socketConnector(socketPath, connectTimeoutMs) }),
    connections: connectionsPerAddress,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    pipelining: 1,
    // Each request has its own deadline; a held call says nothing for minutes.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** Closes pools that nobody uses and that were last used before `beforeMs`, the oldest first, at most `most` of them. */
function closeUnused(entries: Map<SandboxAddress, Entry>, beforeMs: number, most = entries.size): void {
  let closed = 0;
  for (const [address, entry] of entries) {
    if (closed >= most) return;
    if (entry.leases > 0 || entry.usedAtMs > beforeMs) continue;
    entries.delete(address);
    discard(entry.pool);
    closed += 1;
  }
}

function discard(pool: Pool): void {
  pool.destroy().catch(() => {}); // It is gone either way.
}

/** `O_PATH` of Linux, the same on both architectures that we run on: names a file without opening what is in it. */
const pathOnly = 0o10000000;

/**
 * Connects to the unix socket at `path`, and to nothing that stands there in its place: where commands have sandboxd's
 * own id they may put a link there, and we would speak to whatever it names, as one whom everybody here obeys. The
 * connection goes to the very file that was looked at, so there is nothing to win in between. Its folders are the
 * provider's, and no command can change them.
 */
function socketConnector(path: string, connectTimeoutMs: number): buildConnector.connector {
  return (options, callback) => {
    let file: number;
    try {
      file = openSocket(path);
    } catch (thrown) {
      return callback(thrown instanceof Error ? thrown : new Error(String(thrown)), null);
    }
    const connect = buildConnector({ socketPath: `/proc/self/fd/${file}`, timeout: connectTimeoutMs });
    connect(options, (...result) => {
      closeSync(file);
      callback(...result);
    });
  };
}

/** Throws when there is no socket itself at the path. */
function openSocket(path: string): number {
  const file = openSync(path, pathOnly | constants.O_NOFOLLOW);
  if (fstatSync(file).isSocket()) return file;
  closeSync(file);
  throw new Error(`${path} is no socket of sandboxd's any more: something else was put in its place`);
}

/** One request on one connection. Throws `not_sent` for what happened before a connection took it, else `maybe_sent`. */
export async function dispatch(
  dispatcher: Dispatcher,
  options: Dispatcher.RequestOptions,
  until: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const begun = { isSent: false };
  const abortion = abortionOf(until);
  try {
    const answer = noticing(dispatcher, begun).request({ ...options, signal: until });
    answer.catch(() => {}); // Its loss is told by the race.
    // A request that still waits for a connection does not hear its signal.
    return await Promise.race([answer, abortion.happens]);
  } catch (error) {
    throw begun.isSent ? maybeSent(error) : new LinkError({ kind: 'not_sent', detail: reasonOf(error) });
  } finally {
    abortion.forget();
  }
}

/** Notes the moment at which a request is given to an established connection, before its first byte is written. */
function noticing(dispatcher: Dispatcher, begun: { isSent: boolean }): Dispatcher {
  return dispatcher.compose((next) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (controller, context) => {
      begun.isSent = true;
      start?.(controller, context);
    };
    return next(options, handler);
  });
}

/** Rejects when the signal aborts, until it is forgotten. */
function abortionOf(signal: AbortSignal): { readonly happens: Promise<never>; readonly forget: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  const fail = () => reject(new Error(reasonOf(signal.reason)));
  if (signal.aborted) fail();
  signal.addEventListener('abort', fail, { once: true });
  return { happens: promise, forget: () => signal.removeEventListener('abort', fail) };
}

/** It broke after bytes may have left. */
export function maybeSent(error: unknown): LinkError {
  return new LinkError({ kind: 'maybe_sent', detail: reasonOf(error) });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
