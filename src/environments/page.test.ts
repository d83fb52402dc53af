import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { environmentFolder } from '#test/support/environment-folder.ts';
import { compileTexts } from './compile/texts.ts';
import { loadEnvironments, loadPermitted, loadPolicy } from './load-environments.ts';
import { EnvironmentSchema, ToolSchema } from './schema/environment.ts';
import { SandboxSchema } from './schema/sandbox.ts';

// docs/environments.md and the pages below it are what authors believe, so what they show is loaded and what they list is compared.

const docs = join(import.meta.dirname, '../../docs');
const pages = [
  'environments.md',
  ...['fields', 'tools', 'graders', 'data', 'images', 'demands', 'sessions'].map(
    (name) => `environments/${name}.md`,
  ),
];
const texts = await Promise.all(pages.map((name) => readFile(join(docs, name), 'utf8')));
const page = texts.join('\n');
const snippetsOf = (text: string) =>
  [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, yaml = '']) => yaml);
const snippets = snippetsOf(page);
const isPolicy = (yaml: string) => yaml.startsWith('# policy.yaml');

/** What a snippet leaves out because it shows one thing. */
const around = {
  name: 'snippet',
  sandbox: { image: 'host' },
  tools: { shell: { builtin: 'shell' } },
  grader: { kind: 'text', reference: 'item.answer' },
};

test.each(snippets.filter((yaml) => !isPolicy(yaml)))('this loads:\n%s', async (yaml) => {
  const whole = stringify({ ...around, ...(parse(yaml) as object) });
  const beside = {
    'graders/check.py': '',
    'icd10/build-index.mjs': '',
    'icd10/packages/a': '',
    'finance/make-pages.mjs': '',
  };
  await using folder = await environmentFolder({ 'a.yaml': whole, ...beside });
  expect((await loadEnvironments(folder.path)).all()).toHaveLength(1);
});

test('environments of the page about networks load under the policies there', async () => {
  const text = await readFile(join(docs, 'environments/network.md'), 'utf8');
  const [policies, yamls] = [
    snippetsOf(text).filter(isPolicy),
    snippetsOf(text).filter((yaml) => !isPolicy(yaml)),
  ];
  expect(policies).toHaveLength(yamls.length);
  for (const [index, yaml] of yamls.entries()) {
    await using policy = await environmentFolder({ 'policy.yaml': policies[index] ?? '' });
    const whole = stringify({ ...around, ...(parse(yaml) as object) });
    await using folder = await environmentFolder({ 'a.yaml': whole });
    expect((await loadPermitted(folder.path, join(policy.path, 'policy.yaml'))).all()).toHaveLength(1);
  }
});

test.each(snippets.filter(isPolicy))('this policy loads:\n%s', async (yaml) => {
  await using folder = await environmentFolder({ 'policy.yaml': yaml });
  expect(await loadPolicy(join(folder.path, 'policy.yaml'))).toMatchObject({ networks: ['none'] });
});

describe('the tables have', () => {
  const { properties } = EnvironmentSchema;
  const fields = [
    ...Object.keys(properties).filter((name) => name !== 'sandbox' && name !== 'pool'),
    ...Object.keys(SandboxSchema.properties).map((name) => `sandbox.${name}`),
    ...Object.keys(properties.pool.properties).map((name) => `pool.${name}`),
    ...Object.keys(properties.limits.properties),
    ...Object.keys(properties.texts.properties),
    ...Object.keys(ToolSchema.properties),
  ];

  test.each(fields)('the field %s', (field) => {
    expect(page).toContain(`| \`${field}\` |`);
  });

  test.each(Object.values(compileTexts({}, () => {})))('the text %s', (text) => {
    expect(page).toContain(`| \`${text}\` |`);
  });
});
