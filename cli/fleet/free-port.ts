import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { CommandError } from '../command-error.ts';

/**
 * Ports that any process may listen at, below the range that kernels give to outgoing connections (32768 and up by default).
 * Otherwise an outgoing connection of another process could take the port before its owner listens.
 */
const lowest = 20_000;
const beyond = 30_000;
/** A machine on which so many of them are taken has none to give. */
const mostTries = 100;

/** `port` if it is free at `host`, any free one for 0. Throws a CommandError if it is taken, or this machine has no such address. */
export async function freePort(port: number, host = '127.0.0.1'): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const candidate = port === 0 ? randomInt(lowest, beyond) : port;
    try {
      await listenOnce(candidate, host);
      return candidate;
    } catch (thrown) {
      if (port !== 0 || tries === mostTries) throw taken(`port ${candidate} on ${host}`, thrown);
    }
  }
}

async function listenOnce(port: number, host: string): Promise<void> {
  const server = createServer();
  server.listen({ host, port });
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

const taken = (place: string, cause: unknown): CommandError =>
  new CommandError(
    `${place} cannot be used (${cause instanceof Error ? cause.message : String(cause)})`,
    'this machine',
    'stop what listens there, or choose another with --port (0 takes any free one)',
    cause,
  );
