import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CoreWorld } from '#test/support/core-world.ts';
import { developmentKey, type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

/*
 * How long one connection keeps all others waiting, whatever its bytes: the processor time of this thread between two turns of its
 * event loop, beside what JSON.parse takes for as many bytes in the same run.
 */

let world: CoreWorld;
let gateway: GatewayUnderTest;
beforeAll(async () => {
  world = await CoreWorld.start();
  gateway = await startGateway({ core: world.wired.core });
});
afterAll(async () => {
  await gateway.stop(1_000);
  await world[Symbol.asyncDispose]();
});

/** Sends all of it from a thread of its own, so that none of its processor time is ours, and tells when the connection has ended. */
const sender = `
const { workerData, parentPort } = require('node:worker_threads');
const socket = require('node:net').connect(workerData.port, '127.0.0.1');
socket.on('connect', () => socket.write(workerData.bytes));
socket.on('error', () => undefined);
socket.on('close', () => parentPort.postMessage('closed'));
socket.resume();
`;

function cpuMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** The longest turn until the connection has ended. */
async function longestTurnMs(bytes: Buffer): Promise<number> {
  const port = Number(new URL(gateway.url).port);
  const worker = new Worker(sender, { eval: true, workerData: { port, bytes } });
  const over = new AbortController();
  worker.once('message', () => over.abort());
  let longestMs = 0;
  while (!over.signal.aborted) {
    const before = process.threadCpuUsage();
    await nextTurn();
    longestMs = Math.max(longestMs, cpuMs(before));
  }
  await worker.terminate();
  return longestMs;
}

function parseMs(bytes: number): number {
  const json = JSON.stringify(Array.from({ length: bytes / 24 }, (_, index) => ({ name: `value ${index}` })));
  const before = process.threadCpuUsage();
  JSON.parse(json);
  return cpuMs(before);
}

const head = `POST /rft/plain/tools/sh HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${developmentKey}\r\nconnection: close\r\n`;

test.each([
  [
    'a body in chunks of one byte',
    `${head}transfer-encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(1_000_000)}0\r\n\r\n`,
  ],
  ['pipelined requests', 'GET /nothing HTTP/1.1\r\n\r\n'.repeat(200_000)],
  ['cheap pipelined requests', 'GET /healthz HTTP/1.1\r\n\r\n'.repeat(200_000)],
])('%s: other connections are not blocked', { timeout: 60_000 }, async (_what, text) => {
  const bytes = Buffer.from(text);
  const bareMs = parseMs(bytes.length);
  const turnMs = await longestTurnMs(bytes);
  expect({ turnMs, bareMs, fits: turnMs <= 5 * bareMs }).toMatchObject({ fits: true });
});
