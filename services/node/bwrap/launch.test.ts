import { describe, expect, it } from 'vitest';
import { endingOf } from './launch.ts';

describe('endingOf', () => {
  it.each([
    [0, null, { exitCode: 0, signal: null }],
    [1, null, { exitCode: 1, signal: null }],
    [137, null, { exitCode: null, signal: 'SIGKILL' }],
    [143, null, { exitCode: null, signal: 'SIGTERM' }],
    [255, null, { exitCode: 255, signal: null }],
    [null, 'SIGKILL', { exitCode: null, signal: 'SIGKILL' }],
  ])('exit code %s, signal %s is read as %j', (code, signal, ending) => {
    expect(endingOf(code, signal)).toEqual(ending);
  });
});
