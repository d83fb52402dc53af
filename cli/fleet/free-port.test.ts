import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { freePort } from './free-port.ts';

it('any free port is none that kernels give to outgoing connections, which could take it before its owner listens', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort(0)));
  expect(Math.max(...ports)).toBeLessThan(32_768);
  expect(new Set(ports).size).toBeGreaterThan(10);
});

it('a port that is taken is told as this machine’s, with what to do', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    await expect(freePort(port)).rejects.toThrow(`port ${port} on 127.0.0.1 cannot be used`);
  } finally {
    server.close();
  }
});
