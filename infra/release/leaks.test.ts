import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repository } from '../payload/repository.ts';
import { leaksHere, leaksIn } from './leaks.ts';

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'corral-leaks-'))));
afterAll(() => rm(folder, { recursive: true }));

const leaks = leaksHere({
  REGISTRY_TOKEN: 'abc.def+0123456',
  REGISTRY: 'registry.example.com',
  SHORT_KEY: 'word',
});
const leaksOf = async (content: string | Buffer) => {
  const file = join(folder, 'layer');
  await writeFile(file, content);
  return leaksIn(file, leaks);
};

test.each([
  ['the value of REGISTRY_TOKEN', 'x abc.def+0123456 y'],
  ['the folder of the checkout', `at ${repository}cli/main.ts`],
  ['a token of npm', '//registry.example.com/:_authToken=x'],
  ['a private key', `-----BEGIN EC PRIVATE KEY-----\n${'A'.repeat(64)}\n`],
])('%s is found in a file and in a packed one, also where two pieces meet', async (what, content) => {
  expect(await leaksOf(content)).toEqual([what]);
  expect(await leaksOf(gzipSync(content))).toEqual([what]);
  expect(await leaksOf('x'.repeat((1 << 20) - 5) + content)).toEqual([what]);
});

test('what everything has is no leak: a short word, the name of a registry, the mark of a key without one', async () => {
  const harmless = 'word registry.example.com -----BEGIN PRIVATE KEY----- root:x:0:0:root:/root:/bin/bash';
  expect(await leaksOf(harmless)).toEqual([]);
});
