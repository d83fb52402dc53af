import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { authFor } from './auth-files.ts';

let folder: string;
let files: readonly string[];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-auth-'));
  const auths = [
    { 'registry.example.com': { auth: 'first' }, 'registry.example.com/team': { auth: 'team' } },
    { 'registry.example.com': { auth: 'second' }, 'https://index.docker.io/v1/': { auth: 'hub' } },
  ];
  files = auths.map((each, index) => {
    const file = join(folder, `${index}.json`);
    writeFileSync(file, JSON.stringify({ auths: each, credHelpers: { 'registry.example.com': 'helper' } }));
    return file;
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

const read = async (registry: string | null) => JSON.parse(await authFor(registry, files)) as unknown;

it('a registry gets its own credentials only, and the first file that has some decides', async () => {
  expect(await read('registry.example.com')).toEqual({
    auths: { 'registry.example.com': { auth: 'first' }, 'registry.example.com/team': { auth: 'team' } },
  });
  expect(await read('docker.io')).toEqual({ auths: { 'https://index.docker.io/v1/': { auth: 'hub' } } });
});

it('others and archives get none', async () => {
  expect(await read('registry.example.com.evil.example')).toEqual({ auths: {} });
  expect(await read('example.com')).toEqual({ auths: {} });
  expect(await read(null)).toEqual({ auths: {} });
});

it('a file of another kind is named', async () => {
  const file = join(folder, 'none.json');
  writeFileSync(file, '{"auths": []}');
  await expect(authFor('docker.io', [file])).rejects.toThrow(`${file} is not an auth file`);
});

it('no message quotes a broken file', async () => {
  const file = join(folder, 'broken.json');
  writeFileSync(file, 'dXNlcjpwYXNz');
  const message = `${file} is not an auth file of Docker or podman`;
  await expect(authFor('docker.io', [file])).rejects.toThrow(expect.objectContaining({ message }));
});
