import { describe, expect, it } from 'vitest';
import { deathOf } from './death.ts';
import type { DeathFacts } from './death.ts';

const killed = { exitCode: null, signal: 'SIGKILL', lastWords: '' };
const exited = (exitCode: number) => ({ exitCode, signal: null, lastWords: 'why it ended' });

const facts: DeathFacts = {
  ending: killed,
  asked: null,
  outOfMemoryKills: 0,
  outOfMemoryKillsBefore: 0,
  reachedLimit: false,
  idsApart: true,
  expiresAtMs: null,
  endedAtMs: 100_000,
};

describe('deathOf', () => {
  it.each([
    ['a kill that nobody asked for', {}, 'sandboxd_killed'],
    [
      'a kill together with a new kill for memory',
      { outOfMemoryKills: 1, reachedLimit: true },
      'out_of_memory',
    ],
    ['a kill for the want of memory of the machine', { outOfMemoryKills: 1 }, 'sandboxd_killed'],
    [
      'a kill long after a command was killed for memory',
      { outOfMemoryKills: 1, outOfMemoryKillsBefore: 1, reachedLimit: true },
      'sandboxd_killed',
    ],
    [
      'a kill where kills for memory are not counted',
      { outOfMemoryKills: null, outOfMemoryKillsBefore: null },
      'sandboxd_killed',
    ],
    ['another signal', { ending: { ...killed, signal: 'SIGSEGV' } }, 'sandboxd_killed'],
    ['an exit with 0 at its expiry', { ending: exited(0), expiresAtMs: 99_000 }, 'expired'],
    ['an exit with 0 long before its expiry', { ending: exited(0), expiresAtMs: 900_000 }, 'sandbox_exited'],
    ['an exit with another code at its expiry', { ending: exited(3), expiresAtMs: 99_000 }, 'sandbox_exited'],
    ['a start that failed', { ending: exited(1) }, 'sandbox_exited'],
    ['an end that was asked for', { asked: 'deleted' }, 'deleted'],
    ['an end in line, before any process', { asked: 'deleted', ending: null }, 'deleted'],
    ['an end by us at its expiry', { asked: 'expired' }, 'expired'],
    ['a start that took too long', { asked: 'start_timeout' }, 'sandbox_exited'],
    ['the end of node', { asked: 'node_stopping' }, 'node_lost'],
  ] as const)('%s', (_, changes, cause) => {
    expect(deathOf({ ...facts, ...changes }).cause).toBe(cause);
  });

  it('says what was seen, with the last words of what failed', () => {
    expect(deathOf({ ...facts, ending: exited(1) }).evidence).toEqual({
      exitCode: 1,
      signal: null,
      outOfMemoryKills: 0,
      reachedMemoryLimit: false,
      endedByNode: null,
      lastWords: 'why it ended',
    });
  });

  it('says that commands could have ended it where they run under the id of sandboxd', () => {
    expect(deathOf({ ...facts, idsApart: false })).toMatchObject({
      cause: 'sandboxd_killed',
      evidence: { commandsRunAs: 'sandboxd' },
    });
  });

  it('says nothing against commands where the machine itself was short of memory', () => {
    const short = deathOf({ ...facts, idsApart: false, outOfMemoryKills: 1, reachedLimit: false });
    expect(short.evidence).not.toHaveProperty('commandsRunAs');
  });
});
