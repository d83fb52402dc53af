import { describe, expect, it } from 'vitest';
import { identify, isAlive, killProcess, startTicksIn } from './process-identity.ts';

const stat = (state: string) =>
  `42 (a ) (b) ${state} 1 42 42 0 -1 4194560 100 0 0 0 1 2 3 4 20 0 1 0 987654 1000 50`;

describe('the identity of a process', () => {
  it('is read after the last parenthesis, whatever the program is called', () => {
    expect(startTicksIn(stat('S'))).toBe(987_654);
  });

  it('is none for a zombie: it holds nothing any more', () => {
    expect(startTicksIn(stat('Z'))).toBeNull();
  });

  it('is lost with another start time, and then nobody is killed', () => {
    const self = identify(process.pid);
    expect(self).not.toBeNull();
    const later = { pid: process.pid, startTicks: (self?.startTicks ?? 0) + 1 };
    expect(isAlive(later)).toBe(false);
    killProcess(later);
    expect(self === null ? false : isAlive(self)).toBe(true);
  });
});
