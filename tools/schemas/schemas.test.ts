import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { schemaFiles } from './schema-files.ts';

const root = join(import.meta.dirname, '../..');
const read = (name: string) => readFile(join(root, name), 'utf8');
const schemaOf = async (name: string) => JSON.parse(await read(`schemas/${name}.schema.json`)) as object;
/** Optimizing a check takes ten times as long as all of them. */
const checks = new Ajv2020({ strict: false, code: { optimize: false } });
const fitsEnvironment = checks.compile(await schemaOf('environment'));

test('the files say what the schemas say', async () => {
  for (const [name, content] of schemaFiles()) {
    const stale = `schemas/${name} is stale. Write it again: node_modules/.bin/node tools/write-schemas.ts`;
    expect((await read(`schemas/${name}`)) === content, stale).toBe(true);
  }
});

const examples = globSync(['environments/*.yaml', 'gallery/*.yaml', 'infra/images/environments/*.yaml'], {
  cwd: root,
});

test.each(examples)('%s names its schema in the first line, and fits it', async (example) => {
  const text = await read(example);
  const place = relative(dirname(example), 'schemas/environment.schema.json');
  expect(text.split('\n')[0]).toBe(`# yaml-language-server: $schema=${place}`);
  fitsEnvironment(parse(text));
  expect(fitsEnvironment.errors).toBeNull();
});

test.each([
  ['environment', { name: 'shell', sandbox: { image: 'host' }, toolz: {} }],
  ['policy', { images: 'all' }],
  ['cluster', { namespace: 'Sandboxes', sandboxd: 'baked' }],
])('a mistake in an %s file is found', async (name, wrong) => {
  expect(checks.compile(await schemaOf(name))(wrong)).toBe(false);
});

test('a policy and a cluster file fit their schemas', async () => {
  expect(
    checks.compile(await schemaOf('policy'))({ images: ['registry.example.com/*'], networks: ['none'] }),
  ).toBe(true);
  expect(checks.compile(await schemaOf('cluster'))({ namespace: 'lab-sandboxes', sandboxd: 'baked' })).toBe(
    true,
  );
});
