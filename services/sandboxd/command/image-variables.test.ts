import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { imageEnvironment } from './image-variables.ts';

const config = readConfig(
  { CORRAL_SANDBOX_ID: 's', CORRAL_TOKEN_SHA256: 'a'.repeat(64), CORRAL_LISTEN: 'unix:/x' },
  0,
  '/',
);
const own = { PATH: '/nowhere', LANG: 'C.UTF-8', CORRAL_USERS: 'two-user' };

it('what the image says is above what its sandbox was given', () => {
  const CORRAL_IMAGE_ENV = JSON.stringify({ PATH: '/image', LD_PRELOAD: '/x.so' });
  expect(imageEnvironment({ ...own, CORRAL_IMAGE_ENV }, config)).toMatchObject({
    PATH: '/image',
    LD_PRELOAD: '/x.so',
    LANG: 'C.UTF-8',
    CORRAL_USERS: 'two-user',
  });
});

it('what cannot be read is a mistake of ours, and says which', () => {
  expect(() => imageEnvironment({ CORRAL_IMAGE_ENV: '"x"' }, config)).toThrow(/CORRAL_IMAGE_ENV/);
});

describe('the cache of Python', () => {
  let root: string;
  const prefix = 'PYTHONPYCACHEPREFIX';
  const cacheIn = (variables: NodeJS.ProcessEnv = {}) =>
    imageEnvironment({ ...own, PATH: join(root, 'bin'), ...variables }, config)[prefix];
  beforeAll(() => {
    // Not below a folder that is closed to others, in which no program is the command's user's to run.
    root = mkdtempSync(join(tmpdir(), 'corral-python-'));
    chmodSync(root, 0o755);
    for (const folder of ['bin', 'lib/python3.99/encodings'])
      mkdirSync(join(root, folder), { recursive: true });
    symlinkSync('python3.99', join(root, 'bin/python3'));
    writeFileSync(join(root, 'bin/python3.99'), '', { mode: 0o755 });
  });
  afterAll(() => rmSync(root, { recursive: true }));

  it('is elsewhere if Python could not keep it beside its modules', () => {
    expect(cacheIn()).toMatch(/^\/tmp\//);
    expect(imageEnvironment(own, config)[prefix]).toMatch(/^\/tmp\//);
  });

  it('is where the image says, and the empty text says nowhere', () => {
    expect(cacheIn({ CORRAL_IMAGE_ENV: JSON.stringify({ [prefix]: '/cache' }) })).toBe('/cache');
    expect(cacheIn({ [prefix]: '' })).toBe('');
  });

  it('stays where it is if the modules are compiled already', () => {
    const cache = join(root, 'lib/python3.99/encodings/__pycache__');
    mkdirSync(cache);
    expect(cacheIn()).toBeUndefined();
    rmSync(cache, { recursive: true });
  });
});
