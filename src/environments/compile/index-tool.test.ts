import { describe, expect, test } from 'vitest';
import { actionOf, queryChecks } from '#src/tools/action.ts';
import { environmentFolder, mistakesOf } from '#test/support/environment-folder.ts';
import { loadEnvironments } from '../load-environments.ts';

const yaml = (tool: string, sandbox = 'image: host', expose = '[repo, sub-path]') => `
name: plain
sandbox: { ${sandbox} }
expose: ${expose}
tools:
  find: ${tool}
grader: { kind: text, reference: item.answer }
`;
const sql = 'SELECT path, text FROM pages WHERE pages MATCH any_word(:query) AND repo = :item_repo LIMIT 6';
const find = `{ index: { database: /data/pages.db, sql: "${sql}", each: "{path}: {{text}} {text}" } }`;

async function toolOf(text: string) {
  await using folder = await environmentFolder({ 'a.yaml': yaml(text) });
  const tool = (await loadEnvironments(folder.path)).all()[0]?.tools['find'];
  if (tool === undefined) throw new Error('it was not loaded');
  return tool;
}

const mistakes = async (tool: string, sandbox?: string, expose?: string) => {
  await using folder = await environmentFolder({ 'a.yaml': yaml(tool, sandbox, expose) });
  return await mistakesOf(folder.path, loadEnvironments(folder.path));
};

const inFile = (database: string, text = 'SELECT 1') =>
  `{ index: { database: ${database}, sql: "${text}" } }`;

describe('a tool that is a query', () => {
  test('has a text for each name in its SQL that is no field of the row, and rows in the author’s words', async () => {
    const tool = await toolOf(find);
    expect(tool.parameters).toMatchObject({ required: ['query'], properties: { query: { type: 'string' } } });
    expect(tool.run).toEqual({
      kind: 'index',
      database: '/data/pages.db',
      sql,
      each: ['', 'path', ': {text} ', 'text', ''],
      none: 'Nothing found.',
    });
  });

  test('becomes SQL as it was written and values beside it, whatever the model wrote', async () => {
    const tool = await toolOf(find);
    const hostile = "'; DROP TABLE pages; -- :item_repo {path}";
    const action = actionOf(
      tool,
      { query: hostile, n: 3, all: true, list: ['a'], none: null },
      { repo: 'r', 'sub-path': 'p' },
    );
    expect(action).toEqual({
      kind: 'query',
      database: '/data/pages.db',
      sql,
      each: ['', 'path', ': {text} ', 'text', ''],
      none: 'Nothing found.',
      values: { query: hostile, n: 3, all: 1, list: '["a"]', none: null, item_repo: 'r', item_sub_path: 'p' },
    });
  });

  test('is checked without values before the first call', async () => {
    expect(queryChecks({ find: await toolOf(find) })).toEqual([
      { tool: 'find', action: expect.objectContaining({ kind: 'query', values: {}, check: true, sql }) },
    ]);
  });

  test('takes no name in a text or a remark for a parameter', async () => {
    const quoted = `{ index: { database: /data/a.db, sql: "SELECT ':a', x AS \\":b\\" FROM t WHERE x = :c -- :d" } }`;
    expect((await toolOf(quoted)).parameters).toMatchObject({ required: ['c'] });
  });

  test.each<[string, string, string?]>([
    ['with a command beside it', `{ command: [ls], index: { database: /d/a.db, sql: "SELECT 1" } }`],
    [
      'with a dependency',
      `{ dependency: { exit_code: 75, probe: "tcp://db:1" }, index: { database: /d/a.db, sql: "SELECT 1" } }`,
    ],
    ['that writes', inFile('/data/a.db', 'DELETE FROM t')],
    [
      'with a name that is nobody’s',
      `{ parameters: { a: string }, index: { database: /d/a.db, sql: "SELECT :b" } }`,
    ],
    [
      'with a field that is not exposed',
      `{ parameters: { a: string }, index: { database: /d/a.db, sql: "SELECT :item_answer" } }`,
    ],
    [
      'with a parameter called as a field',
      `{ parameters: { item_repo: string }, index: { database: /d/a.db, sql: "SELECT :item_repo" } }`,
    ],
    ['that takes rows for items', `{ index: { database: /d/a.db, sql: "SELECT 1", each: "{item.repo}" } }`],
    ['of a database in the workspace', inFile('/workspace/a.db')],
    ['of a database in a folder of the policy’s', inFile('/logs/a.db'), 'image: host, folders: [/logs]'],
    ['where commands have our id', inFile('/data/a.db'), 'image: host, run_as: root'],
    ['where all have one id', inFile('/data/a.db'), 'image: alpine, uid: single'],
  ])('%s is a mistake', async (_, tool, sandbox) => {
    expect(await mistakes(tool, sandbox)).toEqual([expect.stringMatching(/^a\.yaml:\d+ tools\.find/)]);
  });

  test('may read data that is mounted in the workspace', async () => {
    const sandbox = 'image: host, data: [{ source: ., target: /workspace/data }]';
    await using folder = await environmentFolder({ 'a.yaml': yaml(inFile('/workspace/data/a.db'), sandbox) });
    expect((await loadEnvironments(folder.path)).all()).toHaveLength(1);
  });
});
