import type { Socket } from 'node:net';

/** Where one end of a proxied connection closes, so does the other. `sockets`: those that are open. */
export function joinFates(client: Socket, upstream: Socket, sockets: Set<Socket>): void {
  for (const socket of [client, upstream]) {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      client.destroy();
      upstream.destroy();
    });
  }
}
