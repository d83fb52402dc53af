import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:net';
import { once } from 'node:events';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ownCertificate } from '#cli/up/own-certificate.ts';
import { developmentKey, type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

let folder = '';
let gateway: GatewayUnderTest;
let encrypted = '';
let plain = '';
let dispatcher: Agent;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-outer-door-'));
  const tls = ownCertificate(folder, '127.0.0.1');
  gateway = await startGateway();
  encrypted = await gateway.listenBeyond({ host: '127.0.0.1', port: 0, tls });
  plain = await gateway.listenBeyond({ host: '127.0.0.1', port: 0, tls: null });
  dispatcher = new Agent({ connect: { ca: readFileSync(tls.certFile) } });
});
afterAll(async () => {
  await dispatcher.close();
  await rm(folder, { recursive: true });
});

const statusOf = async (url: string, key: string) => {
  const headers = { authorization: `Bearer ${key}`, 'x-corral-run': 'run-42' };
  const { statusCode, body } = await request(`${url}/v1/environments`, { headers, dispatcher });
  await body.dump();
  return statusCode;
};

const keyOf = () => (gateway.headersOf('native')['authorization'] ?? '').replace('Bearer ', '');

it('a key of the key file is valid through every door', async () => {
  expect(encrypted).toMatch(/^https:/);
  for (const url of [gateway.url, encrypted, plain]) expect(await statusOf(url, keyOf())).toBe(200);
});

it('the development key is valid on this machine, and never through an outer door, although that is on loopback too', async () => {
  expect(await statusOf(gateway.url, developmentKey)).toBe(200);
  expect(await statusOf(encrypted, developmentKey)).toBe(401);
  expect(await statusOf(plain, developmentKey)).toBe(401);
});

it('what is not TLS gets no answer at an encrypted door', async () => {
  const socket = connect(Number(new URL(encrypted).port), '127.0.0.1');
  const heard: Buffer[] = [];
  socket.on('data', (piece: Buffer) => heard.push(piece)).on('error', () => undefined);
  socket.write('GET /healthz HTTP/1.1\r\n\r\n');
  await once(socket, 'close');
  expect(Buffer.concat(heard).toString()).not.toContain('HTTP/1.1');
});

it('all doors are closed once the gateway has left', async () => {
  await gateway.stop(0);
  for (const url of [gateway.url, encrypted, plain]) await expect(statusOf(url, keyOf())).rejects.toThrow();
});
