import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKey } from '#src/access/keys.ts';
import { tenantId } from '#src/model/ids.ts';
import { systemRandom } from '#src/platform/random.ts';
import { readKeys, writeKeys } from './keys.ts';

let folder = '';
const file = () => join(folder, 'keys.json');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-keys-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('keys are read back as written, by their owner alone, and no draft stays', () => {
  const description = {
    id: 'a',
    tenant: tenantId('t'),
    scopes: ['native'],
    defaultRun: null,
    expiresAtMs: null,
  } as const;
  const { key } = createKey(description, systemRandom);
  writeKeys(file(), [key]);
  expect(readKeys(file())).toEqual([key]);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['keys.json']);
});

test('a fleet without a key file has no keys', () => {
  expect(readKeys(file())).toEqual([]);
});

test('a broken key file is the reader’s to correct, and is named', () => {
  writeFileSync(file(), '{"keys": [{"id": "A B"}]}');
  expect(() => readKeys(file())).toThrow(/keys\.json: .*keys\[0\]\.id/s);
});
