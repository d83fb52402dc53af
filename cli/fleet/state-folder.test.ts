import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemRandom } from '#src/platform/random.ts';
import { developmentKeyIn } from './keys.ts';
import { openStateFolder } from './state-folder.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-state-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('the folder is made for its owner alone', () => {
  const state = openStateFolder(join(folder, 'deep', 'state'));
  expect(statSync(state.root).mode & 0o777).toBe(0o700);
  expect(existsSync(state.redis)).toBe(true);
});

test('a path that is too long for unix sockets is refused before anything starts', () => {
  expect(() => openStateFolder(join(folder, 'x'.repeat(60)))).toThrow(/characters too long for unix sockets/);
});

test('the development key is kept over restarts and readable by nobody else', () => {
  const state = openStateFolder(folder);
  const key = developmentKeyIn(state.developmentKeyFile, systemRandom);
  expect(key).toMatch(/^corral_development_[0-9a-z]{24}$/);
  expect(developmentKeyIn(state.developmentKeyFile, systemRandom)).toBe(key);
  expect(statSync(state.developmentKeyFile).mode & 0o777).toBe(0o600);
});
