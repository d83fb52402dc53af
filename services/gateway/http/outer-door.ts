import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { type AddressInfo, createServer, type Server as SocketServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** Where callers beyond this machine connect. */
export type OuterDoorSettings = {
  readonly host: string;
  readonly port: number;
  /** Null: what passes is not encrypted. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
};

export type OuterDoor = {
  readonly url: string;
  /** Takes no further connection; earlier ones stay open. */
  close(): void;
};

const throughOuterDoor = new WeakSet<Socket>();

/**
 * A second address of the same server. What comes through it is never taken for this machine's own, whatever its address is: a
 * proxy, a tunnel or a container's port forwarding on this machine brings in others, and connects from loopback.
 */
export async function openOuterDoor(server: Server, settings: OuterDoorSettings): Promise<OuterDoor> {
  const admit = (socket: Socket) => {
    throughOuterDoor.add(socket);
    server.emit('connection', socket);
  };
  const door = await createDoor(settings, admit);
  door.listen(settings.port, settings.host);
  await once(door, 'listening');
  // With an address of its own it is no pipe.
  const { port } = door.address() as AddressInfo;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const scheme = settings.tls === null ? 'http' : 'https';
  return { url: `${scheme}://${host}:${port}`, close: () => void door.close() };
}

async function createDoor(
  { tls }: OuterDoorSettings,
  admit: (socket: Socket) => void,
): Promise<SocketServer> {
  if (tls === null) return createServer(admit);
  const [cert, key] = await Promise.all([readFile(tls.certFile), readFile(tls.keyFile)]);
  return createTlsServer({ cert, key }, admit);
}

/** Where a request came from, for the rules of keys; '' is nowhere on this machine. */
export const originAddress = (socket: Socket): string =>
  throughOuterDoor.has(socket) ? '' : (socket.remoteAddress ?? '');
