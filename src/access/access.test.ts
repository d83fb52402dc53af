import { describe, expect, it } from 'vitest';
import { runId, tenantId } from '../model/ids.ts';
import type { Random } from '../ports/random.ts';
import { authorise, credentialsOf, verifyKey } from './authorise.ts';
import { createKey, type ApiKey, type Scope } from './keys.ts';

const nowMs = Date.parse('2026-11-21T12:00:00Z');
let drawn = 0;
const random: Random = { next: () => 0, text: (length) => String((drawn += 1)).padStart(length, 'x') };

function newKey(id: string, changes: Partial<ApiKey> = {}, scopes: readonly Scope[] = ['rft:tools']) {
  const description = {
    id,
    tenant: tenantId('acme'),
    scopes,
    defaultRun: runId('nightly'),
    expiresAtMs: null,
  };
  return createKey({ ...description, ...changes }, random);
}

describe('a key', () => {
  it('is presented as corral_<id>_<secret> and kept as a hash only', () => {
    const { key, presented } = newKey('trainer');
    expect(presented).toMatch(/^corral_trainer_[0-9a-z]{40}$/);
    expect(JSON.stringify(key)).not.toContain(presented.slice(-40));
    expect(verifyKey(presented, [key], nowMs)).toEqual({ kind: 'valid', key });
  });

  it.each(['', 'UPPER', 'a_b', '-a', 'x'.repeat(41)])('cannot have the id "%s"', (id) => {
    expect(() => newKey(id)).toThrow(RangeError);
  });

  it('opens nothing when one character is wrong, missing or too many', () => {
    const { key, presented } = newKey('trainer');
    for (const wrong of [`${presented.slice(0, -1)}y`, presented.slice(0, -1), `${presented}x`, '']) {
      expect(verifyKey(wrong, [key], nowMs)).toEqual({ kind: 'unknown' });
    }
  });

  it('expires at its instant', () => {
    const { key, presented } = newKey('trainer', { expiresAtMs: nowMs });
    expect(verifyKey(presented, [key], nowMs - 1).kind).toBe('valid');
    expect(verifyKey(presented, [key], nowMs).kind).toBe('expired');
  });
});

describe('what a request presents', () => {
  it.each([
    [{ authorization: 'Bearer abc' }, 'abc'],
    [{ authorization: 'bearer   abc ' }, 'abc'],
    [{ 'x-api-key': ' abc ' }, 'abc'],
    [{ authorization: 'Bearer abc', 'x-api-key': 'other' }, 'abc'],
    [{ authorization: 'Basic abc' }, null],
    [{ authorization: 'Bearer' }, null],
    [{ authorization: 'Bearer a b' }, null],
    [{}, null],
  ])('%o: %s', (headers, presented) => {
    expect(credentialsOf(headers, '10.0.0.1').presented).toBe(presented);
  });
});

const from = (presented: string, remoteAddress = '10.0.0.1', headers = {}) =>
  credentialsOf({ 'x-api-key': presented, ...headers }, remoteAddress);

describe('who may ask', () => {
  const trainer = newKey('trainer');
  const operator = newKey('operator', {}, ['admin']);
  const expired = newKey('old', { expiresAtMs: nowMs - 1 });
  const keys = [trainer, operator, expired].map(({ key }) => key);
  const known = { keys, developmentKey: 'dev-secret', nowMs };

  it('opens for the scope of the key, with its tenant and run', () => {
    expect(authorise(from(trainer.presented), ['rft:tools'], known)).toMatchObject({
      keyId: 'trainer',
      tenant: 'acme',
      defaultRun: 'nightly',
    });
  });

  it('opens for admin everywhere', () => {
    expect(authorise(from(operator.presented), ['native'], known).keyId).toBe('operator');
  });

  it.each([
    ['no key', credentialsOf({}, '127.0.0.1'), /no API key/],
    ['an unknown key', from('corral_trainer_guess'), /not known/],
    ['an expired key', from(expired.presented), /"old" has expired/],
    ['another scope', from(trainer.presented), /no scope rft:grade/],
    ['the development key from elsewhere', from('dev-secret'), /not known/],
    [
      'the development key through a proxy',
      from('dev-secret', '127.0.0.1', { 'x-forwarded-for': '1.2.3.4' }),
      /not known/,
    ],
    ['an address that only looks like loopback', from('dev-secret', '127.0.0.1.evil'), /not known/],
  ])('stays shut for %s: unauthorized, with the reason', (_name, credentials, reason) => {
    expect(() => authorise(credentials, ['rft:grade'], known)).toThrow(
      expect.objectContaining({ code: 'unauthorized', message: expect.stringMatching(reason) }),
    );
  });

  it.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])(
    'opens for the development key from %s',
    (address) => {
      expect(authorise(from('dev-secret', address), ['rft:grade'], known).tenant).toBe('development');
    },
  );

  it('knows no development key where none is configured', () => {
    const closed = { ...known, developmentKey: null };
    expect(() => authorise(from('dev-secret', '127.0.0.1'), ['native'], closed)).toThrow(/not known/);
  });
});
