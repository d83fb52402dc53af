import { expect, test } from 'vitest';
import { aCallResult } from '#test/fakes/gateway-core.ts';
import { endOf, outputOf } from './process-events.ts';

test.each([
  ['its own end', { outcome: 'completed', exitCode: 7 }, 7],
  ['a signal', { outcome: 'completed', exitCode: null, signal: 'SIGSEGV' }, 139],
  ['its time-out', { outcome: 'timed_out', exitCode: null, signal: 'SIGKILL', timedOut: true }, 124],
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

test('output that was cut says so where it ends, and in the words of the end', () => {
  const truncated = { stdout: true, stderr: false, totalBytes: 9_000 };
  const result = { ...aCallResult(), stdout: 'head', stderr: 'whole', truncated };
  const told = [...outputOf(result)].map((data) =>
    Object.values(data).map((text) => Buffer.from(text, 'base64').toString()),
  );
  expect(told.flat()).toEqual(['head\n[stdout was cut: only its head and tail are above]\n', 'whole']);
  expect(endOf(result).error).toBe('output was cut: 9000 bytes in all');
});
