import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { impatientOnRft } from '#test/support/timings.ts';

const broken = `
name: shell
sandbox:
  image: host
  disk: 64Mi
  data:
    - { build: [sh, read-corpus.sh], inputs: [read-corpus.sh], target: /data/corpus }
tools: { shell: { builtin: shell, timeout: 46s } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 4 }
`;
const searched = `
name: searched
sandbox:
  image: host
  disk: 64Mi
  data:
    - { build: [node, make-pages.mjs], inputs: [make-pages.mjs], target: /data/pages }
expose: [company]
tools:
  search:
    parameters: { query: string }
    index:
      database: /data/pages/pages.db
      sql: SELECT path, text FROM pages WHERE pages MATCH any_word(:query) AND company = :item_company ORDER BY rank LIMIT 1
      each: "{path}: {text}"
  nowhere:
    index: { database: /data/pages/pages.db, sql: "SELECT path FROM pages WHERE path = :path", none: "Error: there is no such page." }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 4 }
`;
const missing = searched
  .replace('name: searched', 'name: missing')
  .replace('SELECT path FROM pages', 'SELECT path FROM books');
const files = {
  'read-corpus.sh': 'echo "page 12 has no table" >&2\nexit 4\n',
  'make-pages.mjs': `
    import { DatabaseSync } from 'node:sqlite';
    const db = new DatabaseSync(process.env.CORRAL_DATA + '/pages.db');
    db.exec("CREATE VIRTUAL TABLE pages USING fts5(path, company, text, tokenize = 'porter')");
    db.exec("INSERT INTO pages VALUES ('a/2016', 'ACM', 'net revenues rose'), ('b/2016', 'OTH', 'net revenues fell')");
    db.close();
  `,
};
const item = { id: 'x', answer: '42', company: 'ACM' };

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({
    environments: { shell: broken, searched, missing },
    files,
    timings: impatientOnRft,
  });
});
afterAll(() => corral.stop());

const search = (call: string, tool: string, args: object) =>
  corral.rft.call({ trace: 'three', call, tool, arguments: args, environment: 'searched', item });

test('data that cannot be made: 503 with command and last words on both faces, told in /readyz', async () => {
  await corral.native.open('two', 'shell');
  const call = { call_id: 'c1', name: 'shell', arguments: { command: 'echo' } };
  const native = await corral.native.post('/v1/rollouts/two/calls?wait_s=300', call);
  const message = expect.stringMatching(/read-corpus\.sh.*exit code 4.*page 12 has no table/);
  const expected = { ...toldNothingRan, code: 'setup_failed', message } as const;
  // The next sandbox would need the same data.
  expectFailure(native, { ...expected, rollout_id: 'two', retryable: false });
  const held = await corral.rft.call({ trace: 'one', call: 'c1', command: 'echo hi' });
  expectFailure(held, { ...expected, rollout_id: 'one' });
  const ready = await corral.native.get('/readyz');
  expect(ready.body).toMatchObject({
    data: expect.arrayContaining([expect.objectContaining({ state: 'failed' })]),
  });
});

test('data that is made is searched by the rows of the task, as text for the model', async () => {
  const found = await search('c1', 'search', { query: 'revenue?' });
  expect(found.status).toBe(200);
  expect(JSON.stringify(found.body)).toContain('a/2016: net revenues rose');
  expect(JSON.stringify(found.body)).not.toContain('b/2016');
  expect(JSON.stringify((await search('c2', 'nowhere', { path: 'z' })).body)).toContain(
    'Error: there is no such page.',
  );
  expect((await search('c3', 'search', { query: 7 })).status).toBe(200);
});

test('a query that its database does not have is found before the first call', async () => {
  await corral.native.open('four', 'missing', item);
  const call = { call_id: 'c1', name: 'search', arguments: { query: 'x' } };
  expectFailure(await corral.native.post('/v1/rollouts/four/calls?wait_s=300', call), {
    ...toldNothingRan,
    code: 'setup_failed',
    retryable: false,
    rollout_id: 'four',
    message: expect.stringContaining('pages.db cannot be asked: exit code 1: Error: no such table: books'),
  });
});
