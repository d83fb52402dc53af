import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type OuterDoorOptions, planOuterDoor } from './outer-door.ts';
import { ownCertificate, readCertificate } from './own-certificate.ts';

let state = '';
beforeEach(() => void (state = mkdtempSync(join(tmpdir(), 'corral-door-'))));
afterEach(() => rmSync(state, { recursive: true, force: true }));

const options = (changes: Partial<OuterDoorOptions> = {}): OuterDoorOptions => ({
  host: '0.0.0.0',
  state,
  tls: true,
  firstKey: false,
  ...changes,
});

test('a fleet for this machine only has no outer door', () => {
  expect(planOuterDoor(options({ host: '127.0.0.1' }))).toBeNull();
  expect(() => planOuterDoor(options({ host: 'localhost', tlsCert: 'x' }))).toThrow('nothing is encrypted');
});

test('without a key that is valid there, the fleet does not start, and the error says how to make one', () => {
  expect(() => planOuterDoor(options())).toThrow(
    /only keys of a key file are valid, and .*keys\.json has none/,
  );
});

test('a first key is made once, for playing only, and its text is in no file', () => {
  const first = planOuterDoor(options({ firstKey: true }))?.firstKey;
  expect(first).toMatch(/^corral_first_\w{40}$/);
  const kept = readFileSync(join(state, 'keys.json'), 'utf8');
  expect(kept).not.toContain(first);
  expect(kept).not.toContain('admin');
  expect(planOuterDoor(options({ firstKey: true }))?.firstKey).toBeNull();
});

test('the certificate of a fleet stays, until the fleet has another address', () => {
  const folder = join(state, 'tls');
  const { certFile, keyFile } = ownCertificate(folder, '203.0.113.5');
  const { fingerprint256 } = readCertificate(certFile);
  expect(readCertificate(certFile).checkIP('203.0.113.5')).toBe('203.0.113.5');
  expect(statSync(keyFile).mode & 0o077).toBe(0);
  ownCertificate(folder, '0.0.0.0');
  expect(readCertificate(certFile).fingerprint256).toBe(fingerprint256);
  ownCertificate(folder, '203.0.113.6');
  expect(readCertificate(certFile).fingerprint256).not.toBe(fingerprint256);
});

test('half a certificate, or a file that is not one, is refused by name', () => {
  const file = join(state, 'given.pem');
  writeFileSync(file, 'not a certificate');
  expect(() => planOuterDoor(options({ tlsCert: file }))).toThrow(
    'one of --tls-cert and --tls-key is missing',
  );
  expect(() => planOuterDoor(options({ tlsCert: file, tlsKey: '/nowhere' }))).toThrow(
    'there is no file /nowhere',
  );
  expect(() => planOuterDoor(options({ tlsCert: file, tlsKey: file, firstKey: true }))).toThrow(
    'given.pem is not a certificate',
  );
});

test('without TLS nothing is encrypted, and the plan says so', () => {
  const plan = planOuterDoor(options({ tls: false, firstKey: true }));
  expect(plan).toMatchObject({ door: { host: '0.0.0.0', tls: null }, fingerprint: null });
});
