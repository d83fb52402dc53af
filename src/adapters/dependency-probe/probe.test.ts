import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '#src/platform/clock.ts';
import type { Clock } from '#src/ports/clock.ts';
import { createDependencyProbe } from './probe.ts';

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Where the server listens, and for what it was asked. */
async function serving(answer: RequestListener) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

const probe = createDependencyProbe(systemClock);

test.each([200, 204])('an answer of %i is good', async (status) => {
  const { port } = await serving((_request, response) => void response.writeHead(status).end());
  expect(await probe(`http://127.0.0.1:${port}/health`)).toBeNull();
});

test.each([404, 500, 503])('an answer of %i is a failure', async (status) => {
  const { port } = await serving((_request, response) => void response.writeHead(status).end());
  expect(await probe(`http://127.0.0.1:${port}/health`)).toBe(`answered ${status}`);
});

test('a redirect is a failure and is not followed', async () => {
  const { port, asked } = await serving(
    (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
  );
  expect(await probe(`http://127.0.0.1:${port}/health`)).toBe('answered 302');
  expect(asked).toEqual(['/health']);
});

test('a body that does not end is not read', async () => {
  const { port } = await serving((_request, response) => void response.writeHead(200).write('x'));
  expect(await probe(`http://127.0.0.1:${port}/`)).toBeNull();
});

test('a connection that is accepted is good, whatever is said there', async () => {
  const server = createTcpServer().listen(0, '::1');
  await once(server, 'listening');
  closers.push(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(await probe(`tcp://[::1]:${port}`)).toBeNull();
});

test.each(['http', 'tcp'])('nobody listens at %s://: a failure', async (scheme) => {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  expect(await probe(`${scheme}://127.0.0.1:${port}`)).toBe('could not be reached: ECONNREFUSED');
});

test('a server that never answers is a failure', async () => {
  const { port } = await serving(() => undefined);
  const hasty = createDependencyProbe(clockOf(0, 50), 50);
  expect(await hasty(`http://127.0.0.1:${port}/`)).toBe('gave no answer within 0.05 s');
});

test('a probe of a process that stood still says nothing of the server', async () => {
  const { port } = await serving(() => undefined);
  const stalled = createDependencyProbe(clockOf(0, 10_000), 50);
  await expect(stalled(`http://127.0.0.1:${port}/`)).rejects.toThrow('this process was too busy to make it');
});

/** Its two readings are when a probe begins and when it has failed, however busy this machine is. */
function clockOf(beganMs: number, failedMs: number): Clock {
  const readings = [beganMs, failedMs];
  return { ...systemClock, monotonicMs: () => readings.shift() ?? failedMs };
}
