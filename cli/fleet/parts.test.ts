import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { consolePart, type PartsOptions } from './parts.ts';
import { stateFolderAt } from './state-folder.ts';

const options: PartsOptions = {
  folder: stateFolderAt('/state'),
  engine: { kind: 'local', payloadDir: '/payload' },
  servicesDir: '/services',
  environmentsDir: '/environments',
  gatewayPort: 1,
  controllerPort: 2,
  developmentKey: 'key',
  pool: {},
  keepRecords: false,
};

test('a console is not ready while the console of another fleet answers at its port', async () => {
  const other = createServer((_request, response) => response.end('{"status":"ok","pid":4711}'));
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const { port } = other.address() as AddressInfo;
  const { isReady } = consolePart(options, { port, code: 'code', codeUntilMs: 0 });
  const { signal } = new AbortController();
  expect([await isReady(signal, 4712), await isReady(signal, 4711)]).toEqual([false, true]);
  other.close();
});
