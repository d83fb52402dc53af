import { describe, expect, it } from 'vitest';
import { couldNotMount, type DeathFacts, deathOf } from './death.ts';

const killed = { exitCode: null, signal: 'SIGKILL', lastWords: '' };
const exited = (exitCode: number) => ({ exitCode, signal: null, lastWords: 'why it ended' });

const facts: DeathFacts = {
  ending: killed,
  asked: null,
  failsEverywhere: false,
  memoryKills: { count: 0, lackedBy: null },
  idsApart: true,
  expiresAtMs: null,
  endedAtMs: 100_000,
};

describe('deathOf', () => {
  it.each([
    ['a kill that nobody asked for', {}, 'sandboxd_killed'],
    [
      'a kill together with a new kill for memory',
      { memoryKills: { count: 1, lackedBy: 'sandbox' } },
      'out_of_memory',
    ],
    [
      'a kill because the machine had no memory left',
      { memoryKills: { count: 1, lackedBy: 'machine' } },
      'node_out_of_memory',
    ],
    [
      'a kill for memory of which it is not known who lacked it',
      { memoryKills: { count: 1, lackedBy: 'unknown' } },
      'sandboxd_killed',
    ],
    ['a kill where kills for memory are not counted', { memoryKills: null }, 'sandboxd_killed'],
    [
      'an end by us because the machine killed in it',
      { asked: 'machine_out_of_memory' },
      'node_out_of_memory',
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
      memoryLackedBy: null,
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

  it('takes an exit at its expiry for the word of the sandbox where commands have its id', () => {
    const over = { ...facts, ending: exited(0), expiresAtMs: 99_000 };
    expect(deathOf({ ...over, idsApart: false }).evidence).toMatchObject({ said_by: 'sandbox' });
    expect(deathOf(over).evidence).not.toHaveProperty('said_by');
    expect(deathOf({ ...over, idsApart: false, asked: 'expired' }).evidence).not.toHaveProperty('said_by');
  });

  it.each(['machine', 'unknown'] as const)(
    'says nothing against commands if memory was lacked by: %s',
    (lackedBy) => {
      const short = deathOf({ ...facts, idsApart: false, memoryKills: { count: 1, lackedBy } });
      expect(short.evidence).not.toHaveProperty('commandsRunAs');
    },
  );
});

describe('a start that failed over a folder', () => {
  it('fails every other sandbox of its template, too, but not one that was told to go', () => {
    const failed = { ...facts, ending: exited(1), failsEverywhere: true };
    expect(deathOf(failed).evidence).toMatchObject({ failsEverywhere: true });
    expect(deathOf({ ...failed, asked: 'deleted' }).evidence).not.toHaveProperty('failsEverywhere');
  });

  it.each([
    "bwrap: Can't find source path /srv/corpus: No such file or directory",
    "bwrap: Can't mkdir parents for /data/corpus: Read-only file system",
    'mount: /run/stage/3: special device /srv/corpus does not exist.\n       dmesg(1) may have more information',
    'mount: /run/stage/3: mount(2) system call failed: Not a directory.',
  ])('is known by the words of who mounts it: %s', (words) => {
    expect(couldNotMount(words)).toBe(true);
  });

  it.each([
    '',
    'bwrap: Creating new namespace failed: No space left on device',
    "bwrap: Can't fork for pid 1: Resource temporarily unavailable",
    'mount: /run/stage/disk: mount(2) system call failed: Cannot allocate memory.',
    'sandboxd cannot start: No such file or directory',
  ])('is not taken for one by other words: %s', (words) => {
    expect(couldNotMount(words)).toBe(false);
  });
});
