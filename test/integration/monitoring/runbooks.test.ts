import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { createProgram } from '#cli/program.ts';
import { factsOf } from '#infra/monitoring/alerts-page.ts';
import { monitoringPrograms } from '#infra/monitoring/programs.ts';
import { type AlertName, alertNames } from '#infra/monitoring/rules/rules.ts';
import { labelKeys } from '#src/adapters/kubernetes/pod/labels.ts';
import { ask } from './promtool.ts';

// What somebody finds who was just woken: a page for each alert, of one shape, whose commands are understood.

const folder = join(import.meta.dirname, '../../../docs/runbooks');
const pages = new Map<AlertName, string>(
  await Promise.all(
    alertNames.map(
      async (name) => [name, await readFile(join(folder, `${name}.md`), 'utf8').catch(() => '')] as const,
    ),
  ),
);
const pageOf = (name: AlertName): string => pages.get(name) ?? '';

const headings = ['Meaning', 'Responsible', 'First checks', 'Then', 'Resolution'] as const;

/** The page's parts by heading. */
const partsOf = (page: string): ReadonlyMap<string, string> =>
  new Map(
    page
      .split(/^## /m)
      .slice(1)
      .map((part) => {
        const end = part.indexOf('\n');
        return [part.slice(0, end), part.slice(end).trim()];
      }),
  );

const blocksOf = (page: string, language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(([, text = '']) => text);

test('every alert has a page, and every page an alert', async () => {
  expect((await readdir(folder)).toSorted()).toEqual(alertNames.map((name) => `${name}.md`).toSorted());
});

describe.each(alertNames)('the page of %s', (name) => {
  const page = pageOf(name);

  test('begins with its name and what the rule says of it', () => {
    expect(page.split('\n').slice(0, 4)).toEqual([`# ${name}`, '', factsOf(name), '']);
  });

  test('has its five parts, none of them empty, and something to look at first', () => {
    const parts = partsOf(page);
    expect([...parts.keys()]).toEqual(headings);
    for (const [heading, text] of parts) expect(text.length, heading).toBeGreaterThan(40);
    const first = parts.get('First checks') ?? '';
    expect(blocksOf(first, 'sh').length + blocksOf(first, 'promql').length).toBeGreaterThan(1);
  });

  test('leads to pages and headings that exist', async () => {
    const links = [...page.matchAll(/\]\((?!https?:)([^)#]*)(#[^)]*)?\)/g)];
    for (const [, path = '', anchor = ''] of links) {
      const file = path === '' ? join(folder, `${name}.md`) : resolve(dirname(join(folder, name)), path);
      expect(existsSync(file), path).toBe(true);
      if (anchor !== '') expect(anchorsOf(await readFile(file, 'utf8')), path).toContain(anchor.slice(1));
    }
  });

  test('shows only commands of corral that its own command line understands', () => {
    for (const command of commandsOf(page, 'corral')) expect(() => parse(command), command).not.toThrow();
  });

  test('shows only kubectl on what a fleet has, found by labels that it has', () => {
    for (const command of commandsOf(page, 'kubectl')) expect(mistakesOf(command), command).toEqual([]);
  });
});

test('no two pages say the same', () => {
  const paragraphs = [...pages.values()].flatMap((page) =>
    page
      .replaceAll(/^```[^]*?^```$/gm, '')
      .split(/\n{2,}/)
      .filter((text) => text.length > 60 && !text.startsWith('#')),
  );
  const twice = paragraphs.filter((text, index) => paragraphs.indexOf(text) !== index);
  expect(twice).toEqual([]);
});

test('every query can be asked of Prometheus', async () => {
  const { promtool } = await monitoringPrograms((line) => console.error(line));
  const queries = [...pages.values()].flatMap((page) => blocksOf(page, 'promql'));
  expect(queries.length).toBeGreaterThan(alertNames.length);
  const rules = queries.map((expr, index) => ({ record: `query:${index}`, expr: expr.trim() }));
  const work = await mkdtemp(join(tmpdir(), 'corral-queries-'));
  try {
    await writeFile(join(work, 'rules.yaml'), stringify({ groups: [{ name: 'queries', rules }] }));
    expect(await ask([promtool, 'check', 'rules', 'rules.yaml'], work)).toMatchObject({ code: 0 });
  } finally {
    await rm(work, { recursive: true });
  }
});

test('a command that nobody knows is noticed', () => {
  expect(() => parse('corral rollouts --verdict lost')).toThrow();
  expect(() => parse('corral rollots')).toThrow();
  expect(mistakesOf('kubectl get pod -n $NAMESPACE -l corral.dev/fleat=$FLEET')).toEqual([
    'corral.dev/fleat',
  ]);
  expect(mistakesOf('kubectl look pods')).toEqual(['look']);
  expect(mistakesOf('kubectl get deployment/$FLEET-gate -n $NAMESPACE')).toEqual(['$FLEET-gate']);
});

/** Lines of `sh` blocks, and what stands in a line of text between backticks, that call a program. */
function commandsOf(page: string, program: string): readonly string[] {
  const lines = blocksOf(page, 'sh').flatMap((block) => block.split('\n'));
  const spans = [...page.replaceAll(/^```[^]*?^```$/gm, '').matchAll(/`([^`\n]+(?:\n[^`\n]+)?)`/g)].map(
    ([, span = '']) => span.replace('\n', ' '),
  );
  // `corral run` alone names a command; with more it is one.
  return [...lines, ...spans.filter((span) => span.split(/\s+/).length > 2)]
    .map((line) => (line.split(' | ')[0] ?? '').trim())
    .filter((line) => line.startsWith(`${program} `));
}

const wordsOf = (command: string): readonly string[] =>
  command
    .split(/\s+/)
    .slice(1)
    .map((word) => word.replaceAll("'", ''));

/** With our own command line, all of whose commands do nothing. */
function parse(command: string): void {
  const program = createProgram({ result: () => undefined, remark: () => undefined, width: 100 });
  disarm(program);
  program.parse(wordsOf(command), { from: 'user' });
}

function disarm(command: Command): void {
  if (command.commands.length === 0) command.action(() => undefined);
  for (const below of command.commands) disarm(below);
}

const verbs = new Set([
  'get',
  'describe',
  'logs',
  'exec',
  'auth',
  'rollout',
  'scale',
  'patch',
  'delete',
  'top',
]);
const kinds = new Set([
  'pods',
  'nodes',
  'node',
  'events',
  'resourcequota',
  'deployments',
  'deployments,pods',
  'configmaps',
  'secret',
]);
const objects = new Set([
  'deployment/$FLEET-gateway',
  'deployment/$FLEET-controller',
  'statefulset/$FLEET-redis',
  '$FLEET-keys',
  '$FLEET-fleet-key',
]);
const labels = new Set<string>([
  ...Object.values(labelKeys),
  'app.kubernetes.io/component',
  'app.kubernetes.io/part-of',
]);

/** Verbs, kinds, objects and labels in a command that neither kubectl nor a fleet has. */
function mistakesOf(command: string): readonly string[] {
  const [verb = '', ...words] = wordsOf(command);
  const selected = words.flatMap((word, index) =>
    ['-l', '-L'].includes(words[index - 1] ?? '')
      ? word.split(',').map((one) => one.split('=')[0] ?? '')
      : [],
  );
  const named = words.filter((word) => word.includes('$FLEET-') && !word.includes(':'));
  const [kind = ''] = words;
  const ofKind = ['get', 'describe'].includes(verb) && !kind.includes('/') ? [kind] : [];
  return [
    ...(verbs.has(verb) ? [] : [verb]),
    ...ofKind.filter((one) => !kinds.has(one) && one !== 'pod'),
    ...named.filter((one) => !objects.has(one)).map((one) => one.split('/').at(-1) ?? ''),
    ...selected.filter((label) => !labels.has(label)),
  ];
}

/** As the usual renderers make them: lower case, no punctuation, hyphens for spaces. */
const anchorsOf = (page: string): readonly string[] =>
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
