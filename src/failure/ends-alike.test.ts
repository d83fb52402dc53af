import { expect, test } from 'vitest';
import { endsAlike } from './ends-alike.ts';

test.each([
  [{ kind: 'exited', exitCode: 1 }, true],
  [{ kind: 'exited', exitCode: 128 }, true],
  [{ kind: 'exited', exitCode: 137 }, false],
  [{ kind: 'not_started', errno: 'ENOENT', message: 'there is no folder /app' }, true],
  [{ kind: 'not_started', errno: 'EAGAIN', message: 'no room' }, false],
  [{ kind: 'signalled', signal: 'SIGKILL' }, false],
  [{ kind: 'cancelled' }, false],
] as const)('%j ends alike elsewhere: %s', (ending, expected) => {
  expect(endsAlike(ending)).toBe(expected);
});
