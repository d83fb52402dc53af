import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import { BlockList, createServer, isIPv6, type Server } from 'node:net';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import type { ListenAddress } from './config.ts';

/** As `os.networkInterfaces` tells them. */
export type Interfaces = NodeJS.Dict<NetworkInterfaceInfo[]>;

/**
 * Resolves when the server accepts connections. Only our own user may connect to a unix socket, and nobody from inside
 * the sandbox to a port. A pod has its addresses before its containers start, and keeps them.
 */
export async function listen(
  server: HttpServer,
  address: ListenAddress,
  interfaces: () => Interfaces = networkInterfaces,
): Promise<Server> {
  const ownUmask = process.umask(0o177);
  try {
    const listener = address.kind === 'tcp' ? outsidersOnly(server, interfaces()) : server;
    if (address.kind === 'tcp') {
      listener.listen(address.port, address.host);
    } else {
      // Left by an earlier life in the same folder; nobody listens there any more.
      rmSync(address.path, { force: true });
      listener.listen(address.path);
    }
    await once(listener, 'listening');
    return listener;
  } finally {
    process.umask(ownUmask);
  }
}

/**
 * Stands before the HTTP server. Commands share our network, and connections that they only hold open must not use up
 * what gateways need: one from an address of our own is closed as it is accepted, is counted nowhere and costs no object.
 * A gateway is never inside, and who is cannot send from an address that is not there.
 */
function outsidersOnly(server: HttpServer, interfaces: Interfaces): Server {
  const options = { blockList: addressesOf(interfaces), allowHalfOpen: true, noDelay: true };
  const listener = createServer(options, (socket) => void server.emit('connection', socket));
  listener.maxConnections = server.maxConnections;
  return listener;
}

/** All of loopback, not only 127.0.0.1: the kernel takes every address of an internal interface's subnet for its own. */
function addressesOf(interfaces: Interfaces): BlockList {
  const own = new BlockList();
  for (const { address, cidr, internal } of Object.values(interfaces).flatMap((each) => each ?? [])) {
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    const bits = internal ? cidr?.split('/')[1] : undefined;
    if (bits === undefined) own.addAddress(address, family);
    else own.addSubnet(address, Number(bits), family);
  }
  return own;
}
