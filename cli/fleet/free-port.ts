import { createServer } from 'node:net';
import { CommandError } from '../command-error.ts';

/** `port` if it is free on loopback, any free one for 0. Throws a CommandError if it is taken. */
export function freePort(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => reject(taken(port, error)));
    server.listen({ host: '127.0.0.1', port }, () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : port));
    });
  });
}

const taken = (port: number, cause: Error): CommandError =>
  new CommandError(
    `port ${port} on 127.0.0.1 cannot be used (${cause.message})`,
    'this machine',
    'stop what listens there, or choose another with --port (0 takes any free one)',
    cause,
  );
