import { execFile } from 'node:child_process';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookAround, lookAroundArgv } from './look-around.ts';

const run = promisify(execFile);

let server: Server;
let closedPort = 0;
beforeAll(async () => {
  server = await listening();
  const other = await listening();
  closedPort = portOf(other);
  other.close();
  await once(other, 'close');
});
afterAll(() => server.close());

async function listening(): Promise<Server> {
  const opened = createServer().listen(0, '127.0.0.1');
  await once(opened, 'listening');
  return opened;
}
const portOf = (opened: Server): number => (opened.address() as AddressInfo).port;

const targets = () => [
  { host: '127.0.0.1', port: portOf(server) },
  { host: '127.0.0.1', port: closedPort },
];

test('what listens is connected to, what does not refuses, and each is told in the order it was asked', async () => {
  const { seen, listening: ports } = await lookAround(targets(), 2_000);
  expect(seen).toEqual(['connected', 'ECONNREFUSED']);
  expect(ports).toContain(portOf(server));
});

test('its own addresses are told without those that lead nowhere else', async () => {
  const { addresses } = await lookAround([], 2_000);
  expect(addresses).not.toContain('127.0.0.1');
});

test('as text it needs nothing but a Node', async () => {
  // The payload's loader and Node stand before the flags; any Node may stand in their place.
  const flags = lookAroundArgv(targets()).slice(4);
  const { stdout } = await run(process.execPath, flags, { env: {} });
  expect(JSON.parse(stdout)).toMatchObject({ seen: ['connected', 'ECONNREFUSED'] });
});
