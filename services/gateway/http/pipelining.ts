import type { Socket } from 'node:net';
import type { App } from './app.ts';

/** Of one connection. HTTP libraries and most proxies send the next request when they have the answer to the last one. */
const mostAtOnce = 32;

/**
 * Ends a connection on which more requests wait for their answers. Requests that arrive in one piece are parsed in one go, and all
 * other connections wait meanwhile.
 */
export function boundPipelining(app: App): void {
  const waiting = new WeakMap<Socket, number>();
  const count = (socket: Socket, change: number): number => {
    const now = (waiting.get(socket) ?? 0) + change;
    waiting.set(socket, now);
    return now;
  };
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    if (socket.destroyed) return void reply.hijack();
    reply.raw.once('close', () => count(socket, -1));
    if (count(socket, 1) <= mostAtOnce) return done();
    reply.hijack();
    socket.destroy();
  });
}
