import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export type PrivateRedis = {
  /** Path of its unix socket. */
  readonly socket: string;
  /** Kills it without warning and starts another at the same path; with `persisted`, what it held is there again. */
  restart(keeping?: 'nothing' | 'persisted'): Promise<void>;
  /** Freezes and thaws it, as a machine that swaps does. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  stop(): Promise<void>;
};

/** A redis-server of one test file: on a unix socket in a folder of its own, gone with both when it is stopped. */
export async function startRedis(): Promise<PrivateRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-redis-'));
  const socket = join(folder, 'redis.sock');
  let server = await launch(folder, socket);
  // A test runner that is killed must not leave a server behind.
  const killWithUs = () => server.kill('SIGKILL');
  process.once('exit', killWithUs);
  const end = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  };
  return {
    socket,
    restart: async (keeping = 'nothing') => {
      await end();
      if (keeping === 'nothing') await rm(join(folder, 'appendonlydir'), { recursive: true, force: true });
      server = await launch(folder, socket);
    },
    signal: (signal) => server.kill(signal),
    stop: async () => {
      process.off('exit', killWithUs);
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function launch(folder: string, socket: string): Promise<ChildProcess> {
  const settings = {
    port: '0',
    unixsocket: socket,
    dir: folder,
    save: '',
    // Written out at exit of each event loop round: a killed server then comes back with all that it answered.
    appendonly: 'yes',
    appendfsync: 'no',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  await rm(socket, { force: true });
  const server = spawn('redis-server', flags, { stdio: 'ignore' });
  await untilItListens(server, socket);
  return server;
}

/** A server starts in about 15 ms; ten seconds is a machine that is badly overloaded. */
const startTimeoutMs = 10_000;

async function untilItListens(server: ChildProcess, socket: string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  while (server.exitCode === null && Date.now() < deadline) {
    if (await answers(socket)) return;
    await sleep(5);
  }
  server.kill('SIGKILL');
  throw new Error('redis-server did not start; is Debian package redis-server installed?');
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const attempt = connect(socket);
    attempt.once('data', () => resolve(true));
    attempt.once('error', () => resolve(false));
    attempt.once('connect', () => attempt.write('PING\r\n'));
  }).then((up) => up === true);
}
