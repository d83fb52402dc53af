import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Interfaces, listen } from '#services/sandboxd/listen.ts';

/**
 * sandboxd's listener with real connections, on a machine that has all of 127.0.0.0/8: here only what the listener is told
 * is the sandbox's own, and 127.0.0.1 is a gateway. In a real pod, with addresses as they are: test/cluster/own.
 */
const gateway = '127.0.0.1';
const ofPod = '127.9.0.7';
const ofLoopback = '127.8.0.1';
const interfaces: Interfaces = {
  eth0: [{ address: ofPod, cidr: `${ofPod}/8`, internal: false, netmask: '', mac: '', family: 'IPv4' }],
  lo: [
    { address: ofLoopback, cidr: `${ofLoopback}/16`, internal: true, netmask: '', mac: '', family: 'IPv4' },
    { address: '::1', cidr: '::1/128', internal: true, netmask: '', mac: '', family: 'IPv6', scopeid: 0 },
  ],
};

let server: Server;
let port: number;
let sockets: Socket[];
beforeEach(async () => {
  sockets = [];
  const http = createServer((_, response) => void response.end('served'));
  http.maxConnections = 2;
  server = await listen(http, { kind: 'tcp', host: '0.0.0.0', port: 0 }, () => interfaces);
  ({ port } = server.address() as AddressInfo);
});
afterEach(async () => {
  for (const each of sockets) each.destroy();
  await new Promise((resolve) => void server.close(resolve));
});

/** What a request over a new connection from there is answered; '' = closed without a word. */
async function answerTo(localAddress: string): Promise<string> {
  const socket = connect({ host: gateway, port, localAddress }).setEncoding('utf8');
  socket.end('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  let said = '';
  socket.on('data', (text: string) => (said += text));
  socket.on('error', () => {}); // A reset is an end too.
  await once(socket, 'close');
  return said;
}

/** Opens a connection and says nothing. */
async function idleFrom(localAddress: string): Promise<Socket> {
  const socket = connect({ host: gateway, port, localAddress }).on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

it.each([
  ['the address of an interface', ofPod],
  ['the address of loopback', ofLoopback],
  ['any other of its subnet, which is the machine’s own too', '127.8.44.5'],
])('a peer inside, from %s, is closed without an answer', async (_, address) => {
  expect(await answerTo(address)).toBe('');
});

it('a peer outside is answered, also where it is in the subnet of an interface', async () => {
  expect(await answerTo(gateway)).toMatch(/^HTTP\/1.1 200[^]*served$/);
});

it('600 idle connections from inside use up nothing: gateways have all that they may have', async () => {
  const idle = await Promise.all(Array.from({ length: 600 }, () => idleFrom(ofPod)));
  await idleFrom(gateway);
  expect(await answerTo(gateway)).toContain('served');
  const open = idle.filter((each) => !each.closed);
  await Promise.all(open.map((each) => once(each.resume(), 'close')));
});
