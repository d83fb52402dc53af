import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';

const shutdown = JSON.stringify(join(import.meta.dirname, 'shutdown.ts'));
let child: ChildProcess | null = null;
afterEach(() => void child?.kill('SIGKILL'));

/** A process whose stop handler is the given code; it says "up" when its handlers are set. */
async function startProcess(stop: string, graceMs = 10_000, hurriedMs?: number) {
  const quiet = '{ debug() {}, info() {}, warn() {}, error() {} }';
  const program = `
    const { onShutdown } = await import(${shutdown});
    onShutdown(async (reason, hurry) => { console.log(reason); ${stop} }, { log: ${quiet}, graceMs: ${graceMs}, hurriedMs: ${hurriedMs}, exitWithParent: true });
    setInterval(() => {}, 1000);
    console.log('up');`;
  const started = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child = started;
  const lines: string[] = [];
  const said = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () => lines.join('').includes(text) && resolve();
      started.stdout.on('data', look);
      look();
    });
  started.stdout.on('data', (chunk: Buffer) => lines.push(chunk.toString()));
  await said('up');
  const exited = once(started, 'exit') as Promise<[number | null, string | null]>;
  return { process: started, said, exitCode: async () => (await exited)[0] };
}

test('SIGTERM stops it and it exits 0 when the handler is done', async () => {
  const { process, said, exitCode } = await startProcess('');
  process.kill('SIGTERM');
  await said('SIGTERM');
  expect(await exitCode()).toBe(0);
});

test('a second signal ends it although the handler still waits', async () => {
  const { process, said, exitCode } = await startProcess('await new Promise(() => {});');
  process.kill('SIGINT');
  await said('SIGINT');
  process.kill('SIGINT');
  expect(await exitCode()).toBe(130);
});

const untilHurried = `await new Promise((resolve) => hurry.addEventListener('abort', resolve)); console.log('hurried');`;

test('a second signal hurries a handler that can be hurried, which says its last words', async () => {
  const { process, said, exitCode } = await startProcess(untilHurried, 10_000, 5_000);
  process.kill('SIGTERM');
  await said('SIGTERM');
  process.kill('SIGTERM');
  await said('hurried');
  expect(await exitCode()).toBe(130);
});

test('a handler that is hurried and takes longer than it may is ended', async () => {
  const { process, said, exitCode } = await startProcess('await new Promise(() => {});', 10_000, 50);
  process.kill('SIGTERM');
  await said('SIGTERM');
  process.kill('SIGTERM');
  expect(await exitCode()).toBe(130);
});

test('its parent closing stdin stops it', async () => {
  const { process, said, exitCode } = await startProcess('');
  process.stdin.end();
  await said('parent gone');
  expect(await exitCode()).toBe(0);
});

test('a handler that takes longer than the grace ends it with 1', async () => {
  const { process, exitCode } = await startProcess('await new Promise(() => {});', 50);
  process.kill('SIGTERM');
  expect(await exitCode()).toBe(1);
});

test('a handler that fails ends it with 1', async () => {
  const { process, exitCode } = await startProcess('throw new Error("stuck");');
  process.kill('SIGTERM');
  expect(await exitCode()).toBe(1);
});
