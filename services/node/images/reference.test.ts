import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sourceOf } from './reference.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-archives-'));
  mkdirSync(join(folder, 'layout'));
  for (const file of ['task.tar', 'layout/index.json']) writeFileSync(join(folder, file), 'x');
});
afterAll(() => rmSync(folder, { recursive: true }));

it.each([
  ['python:3.12-slim', 'docker.io', false],
  ['team/task', 'docker.io', false],
  ['registry.example.com/team/task@sha256:12', 'registry.example.com', false],
  ['registry:5000/task', 'registry:5000', false],
  ['localhost/task', 'localhost', true],
  ['127.0.0.1:5000/task:1', '127.0.0.1:5000', true],
  ['127.0.0.1.example.com/task:1', '127.0.0.1.example.com', false],
])('%s is an image of %s; plain HTTP is allowed: %s', (reference, registry, isPlain) => {
  expect(sourceOf({ reference })).toEqual({
    key: reference,
    name: `docker://${reference}`,
    archive: null,
    registry,
    scope: registry,
    isAnonymous: false,
    isPlain,
  });
});

const digest = `sha256:${'0'.repeat(64)}`;

it.each([
  [`python:3.12@${digest}`, `docker://python@${digest}`],
  [`python@${digest}`, `docker://python@${digest}`],
  [`registry:5000/a/b:1@${digest}`, `docker://registry:5000/a/b@${digest}`],
  [`registry:5000/b@${digest}`, `docker://registry:5000/b@${digest}`],
  ['registry:5000/b:1', 'docker://registry:5000/b:1'],
])('a tag next to a digest says nothing more: %s is %s', (reference, name) => {
  expect(sourceOf({ reference }).name).toBe(name);
});

it.each([
  ['docker-archive', 'task.tar', 'task.tar'],
  ['oci-archive', 'task.tar', 'task.tar'],
  ['oci', 'layout', 'layout/index.json'],
])('%s is an archive, and another image once it has changed', (transport, name, written) => {
  const path = join(folder, name);
  const before = sourceOf({ reference: `${transport}:${path}` });
  expect(before).toMatchObject({ name: `${transport}:/archive`, archive: path, registry: null });
  utimesSync(join(folder, written), 1, 1);
  expect(sourceOf({ reference: `${transport}:${path}` }).key).not.toBe(before.key);
  utimesSync(join(folder, written), 2, 2);
});

const reference = () => `docker-archive:${join(folder, 'fixed.tar')}`;

function write(text: string, name = 'fixed.tar'): void {
  writeFileSync(join(folder, name), text);
  utimesSync(join(folder, name), 1, 1);
}

describe('an archive of a builder that writes fixed times, with as many bytes as before', () => {
  it('is another image once it was written again in its place', () => {
    write('a');
    const { key } = sourceOf({ reference: reference() });
    const { ctimeMs } = statSync(join(folder, 'fixed.tar'));
    // The file system's clock goes in steps.
    while (statSync(join(folder, 'fixed.tar')).ctimeMs === ctimeMs) write('b');
    expect(sourceOf({ reference: reference() }).key).not.toBe(key);
  });

  it('is another image once another file has its name', () => {
    write('a');
    const { key } = sourceOf({ reference: reference() });
    write('b', 'other.tar');
    renameSync(join(folder, 'other.tar'), join(folder, 'fixed.tar'));
    expect(sourceOf({ reference: reference() }).key).not.toBe(key);
  });
});

it('an archive that does not exist is not available', () => {
  const missing = join(folder, 'missing');
  for (const transport of ['docker-archive', 'oci'])
    expect(() => sourceOf({ reference: `${transport}:${missing}` })).toThrow(
      expect.objectContaining({ code: 'image_unavailable' }),
    );
});

it('an image without credentials is another one than the same with them', () => {
  const reference = 'registry.example.com/a:1';
  const anonymous = sourceOf({ reference, anonymous: true });
  expect(anonymous).toMatchObject({ name: `docker://${reference}`, isAnonymous: true });
  const named = sourceOf({ reference });
  expect(anonymous.key).not.toBe(named.key);
  expect(anonymous.scope).not.toBe(named.scope);
});
