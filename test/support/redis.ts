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
  /** Kills it without warning and starts another in its place; `persisted`: with what it held. */
  restart(holding: 'nothing' | 'persisted'): Promise<void>;
  /** Freezes and thaws it, as a machine that swaps does. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
};

export type RedisSettings = {
  /** Every write goes to a file, so that a restart can bring it back. */
  readonly onDisk?: boolean;
  /** What it may hold, `64mb`; beyond it, it refuses writes. */
  readonly maxMemory?: string;
  /** More options of redis-server. */
  readonly flags?: readonly string[];
  /** It watches another, as this file of its own says. */
  readonly sentinel?: string;
};

/** A redis-server of one test file: on a unix socket in a folder of its own, gone with both when it is stopped. */
export async function startRedis(settings: RedisSettings = {}): Promise<PrivateRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-redis-'));
  const socket = join(folder, 'redis.sock');
  const argv = argvOf(folder, socket, settings);
  let server = await launch(socket, argv);
  return {
    socket,
    restart: async (holding) => {
      await kill(server);
      if (holding === 'nothing') await rm(join(folder, 'appendonlydir'), { recursive: true, force: true });
      server = await launch(socket, argv);
    },
    freeze: () => void server.kill('SIGSTOP'),
    thaw: () => void server.kill('SIGCONT'),
    stop: async () => {
      await kill(server);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, 'exit');
  server.kill('SIGKILL');
  await exited;
}

function argvOf(folder: string, socket: string, settings: RedisSettings): readonly string[] {
  const { onDisk = false, maxMemory = '0', flags = [], sentinel } = settings;
  const common = ['--port', '0', '--unixsocket', socket, '--dir', folder];
  if (sentinel !== undefined) return ['redis-server', sentinel, ...common, ...flags, '--sentinel'];
  // `everysec`, its default, answers writes that are not in the file yet while the disk is busy.
  const kept = onDisk ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
  return ['redis-server', ...common, '--save', '', '--maxmemory', maxMemory, ...kept, ...flags];
}

async function launch(socket: string, argv: readonly string[]): Promise<ChildProcess> {
  await rm(socket, { force: true });
  // The kernel ends it with us: a test runner that is killed cannot.
  const server = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...argv], { stdio: 'ignore' });
  const failed = new Promise<never>((_, reject) => {
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`redis-server ended with ${code} instead of starting`)));
  });
  try {
    await Promise.race([untilItAnswers(socket), failed]);
    return server;
  } catch (thrown) {
    server.kill('SIGKILL');
    throw thrown;
  } finally {
    failed.catch(() => undefined);
  }
}

/** A server starts in about 15 ms; ten seconds is a machine that is badly overloaded. */
const startTries = 2_000;

async function untilItAnswers(socket: string): Promise<void> {
  for (let tried = 0; tried < startTries; tried += 1) {
    if (await answers(socket)) return;
    await sleep(5);
  }
  throw new Error('redis-server does not answer');
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const attempt = connect(socket, () => attempt.write('PING\r\n'));
    attempt.once('error', () => resolve(false));
    attempt.once('data', () => {
      attempt.destroy();
      resolve(true);
    });
  });
}
