import { expect, test } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import { aCallResult } from '#test/fakes/gateway-core.ts';
import { endOf, outputOf } from './process-events.ts';

test.each([
  ['its own end', { outcome: 'completed', exitCode: 7 }, 7],
  ['a signal', { outcome: 'completed', exitCode: null, signal: 'SIGSEGV' }, 139],
  ['its timeout', { outcome: 'timed_out', exitCode: null, signal: 'SIGKILL', timedOut: true }, 124],
  [
    'a command that could not be started',
    { outcome: 'refused', code: 'command_not_started', exitCode: null },
    126,
  ],
  ['being stopped', { outcome: 'cancelled', exitCode: null }, 137],
  ['a sandbox that it broke', { outcome: 'completed', code: 'sandbox_broken', exitCode: null }, 137],
] as const)('a command’s end by %s is a number, as shells have it', (_name, ended, exitCode) => {
  expect(endOf({ ...aCallResult(), signal: null, ...ended }).exitCode).toBe(exitCode);
});

const notKept = () => Promise.reject(new Error('nothing of it is elsewhere'));

test('output that was cut says so where it ends, and in the words of the end', async () => {
  const truncated = { stdout: true, stderr: false, totalBytes: 9_000 };
  const result = { ...aCallResult(), stdout: 'head', stderr: 'whole', truncated };
  expect(await read(result, notKept)).toEqual([
    'head\n[stdout was cut: only its head and tail are above]\n',
    'whole',
  ]);
  expect(endOf(result).error).toBe('output was cut: 9000 bytes in all');
});

async function* muchBytes(): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.alloc(700_000, 'x'));
}
const muchOutput = () => Promise.resolve(muchBytes());

test('what is too much for an answer comes from the sandbox, piece by piece', async () => {
  const kept = { stdout: 700_000, stderr: 0 };
  const [stdout, stderr] = await read({ ...aCallResult(), stdout: 'head', stderr: 'e', kept }, muchOutput);
  expect([stdout?.length, stderr]).toEqual([700_000, 'e']);
});

test('output that made way or that its client cannot read in time is cut, and what is lost stays a failure', async () => {
  const kept = { stdout: 700_000, stderr: 0 };
  const result = { ...aCallResult(), stdout: 'head', stderr: 'e', kept };
  const gone = new Failure('answer_expired', 'it is no longer kept');
  expect(await read(result, () => Promise.reject(gone))).toEqual([
    'head\n[stdout was cut: only its head and tail are above]\n',
    'e',
  ]);
  expect(await read(result, () => Promise.resolve(null))).toEqual([
    'head\n[stdout was cut: only its head and tail are above]\n',
    'e',
  ]);
  const lost = new Failure('sandbox_lost', 'it is gone');
  await expect(read(result, () => Promise.reject(lost))).rejects.toBe(lost);
});

test('bytes that are not UTF-8 stay as they are, and a reason of Corral’s own is text', async () => {
  const base64 = { stdout: Buffer.from([0xff, 0]).toString('base64'), stderr: '' };
  const told = await Array.fromAsync(outputOf({ ...aCallResult(), stdout: '', base64 }, notKept));
  expect(told).toEqual([{ stdout: '/wA=' }]);
  const refused = { outcome: 'refused', output: 'no folder', stdout: '', base64 } as const;
  expect(await read({ ...aCallResult(), ...refused }, notKept)).toEqual(['\ufffd\0', 'no folder\n']);
});

async function read(...asked: Parameters<typeof outputOf>): Promise<readonly string[]> {
  const texts = { stdout: '', stderr: '' };
  for await (const data of outputOf(...asked)) {
    for (const [stream, piece] of Object.entries(data)) {
      texts[stream as keyof typeof texts] += Buffer.from(piece, 'base64').toString('utf8');
    }
  }
  return [texts.stdout, texts.stderr];
}
