import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { openHttp } from './http.ts';

async function startServer(answers: boolean) {
  const ports = new Set<number | undefined>();
  const server = createServer((request, response) => {
    ports.add(request.socket.remotePort);
    if (answers) response.end('{}');
  });
  await new Promise<void>((listening) => {
    server.listen(0, '127.0.0.1', listening);
  });
  const { port } = server.address() as AddressInfo;
  return { server, ports, url: `http://127.0.0.1:${port}`, [Symbol.dispose]: () => stop(server) };
}

function stop(server: ReturnType<typeof createServer>): void {
  server.closeAllConnections();
  server.close();
}

const requests = 6;

async function connectionsOf(keepAlive: boolean): Promise<number> {
  using server = await startServer(true);
  const http = openHttp({ keepAlive });
  for (let sent = 0; sent < requests; sent += 1) await http.post(server.url, {}, '{}');
  await http.close();
  return server.ports.size;
}

test('requests after each other share connections, or each has its own, as is asked for', async () => {
  // A second one may be opened while the first is still being given back.
  expect(await connectionsOf(true)).toBeLessThanOrEqual(2);
  expect(await connectionsOf(false)).toBe(requests);
});

test('a client that is stopped ends what is under way, and sends nothing more', async () => {
  using server = await startServer(false);
  const stopping = new AbortController();
  const http = openHttp({ stop: stopping.signal });
  const underWay = http.post(server.url, {}, '{}');
  await expect.poll(() => server.ports.size).toBe(1);
  stopping.abort(new Error('enough'));
  await expect(underWay).rejects.toThrow('enough');
  await expect(http.post(server.url, {}, '{}')).rejects.toThrow('enough');
  await http.close();
  expect(server.ports.size).toBe(1);
});
