import { chmod, mkdtemp, open, readdir, readFile, rm, stat, truncate } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { brokenDatabaseExit, type QueryAction } from '#src/protocol/sandboxd/wire.ts';
import { goInside, type Inside } from '#test/support/inside.ts';
import { expectNothingLeft } from '#test/support/left-behind.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

const mebibyte = 1024 * 1024;
const database = '/data/pages.db';
const byWords = `SELECT path, snippet(pages, 1, '[', ']', '…', 8) AS text, bm25(pages, 1, 2) AS rank
  FROM pages WHERE pages MATCH any_word(:query) ORDER BY rank LIMIT 2`;
/** Never ends. */
const endless = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS c FROM n';

const query = (changes: Partial<QueryAction> = {}): QueryAction => ({
  kind: 'query',
  database,
  sql: byWords,
  values: { query: 'revenues' },
  each: ['', 'path', ': ', 'text', ''],
  none: 'Nothing found.',
  ...changes,
});

const exited = (exitCode: number) => ({ kind: 'exited', exitCode });
const answered = (stdout: string) => ({ ending: exited(0), stdout, stderr: '' });

async function writeAt(path: string, position: number, bytes: Buffer): Promise<void> {
  await using file = await open(path, 'r+');
  await file.write(bytes, 0, bytes.length, position);
}

describe('queries in a sandbox', () => {
  let folder: string;
  let node: TestNode;
  let inside: Inside;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corral-queries-'));
    await chmod(folder, 0o755);
    const db = new DatabaseSync(join(folder, 'pages.db'));
    db.exec(`CREATE VIRTUAL TABLE pages USING fts5(path, text, tokenize = 'porter');
      INSERT INTO pages VALUES ('a/2016', 'The net revenue of the company rose.'), ('b/2017', 'The revolver was drawn.'),
        ('c/2018', 'Über naïve cafés and NOT much else.');
      CREATE TABLE codes (code TEXT PRIMARY KEY, title TEXT, billable INTEGER, weight REAL, note);
      INSERT INTO codes VALUES ('I10', 'Essential {hypertension}', 1, 0.5, NULL)`);
    db.close();
    await chmod(join(folder, 'pages.db'), 0o644);
    node = await startNodeProcess();
  });
  beforeEach(async () => {
    inside = await goInside(node, {
      data: [{ source: folder, target: '/data' }],
      memory: { requestBytes: 64 * mebibyte, limitBytes: 256 * mebibyte },
      processes: 24,
    });
    return () => inside.leave();
  });
  afterAll(async () => {
    await node.stop();
    await rm(folder, { recursive: true, force: true });
    await expectNothingLeft(node.stateFolder);
  });

  const text = async (changes: Partial<QueryAction>) => {
    const { ending, stdout, stderr } = await inside.run(query(changes));
    return { ending, stdout: stdout.head, stderr: stderr.head };
  };
  const found = (name: string, words: string) =>
    text({ sql: byWords.replace('any_word', name), values: { query: words } }).then(
      ({ stdout }) => stdout.split(':')[0],
    );
  /** Of who answers them, as the sandbox sees it. */
  const answererPid = async () =>
    (
      await inside.sh(`for p in /proc/[0-9]*; do [ "$(stat -c %u $p)" = 1002 ] && basename $p; done; true`)
    ).stdout.head.trim();

  test('give the rows that fit, in the words that the author chose', async () => {
    expect(await text({})).toEqual(answered('a/2016: The net [revenue] of the company rose.\n'));
    expect(await text({ values: { query: 'the' } })).toMatchObject({
      stdout: expect.stringMatching(/^.*\n.*\n$/),
    });
    const lookup = { sql: 'SELECT * FROM codes WHERE code = upper(trim(:code))', values: { code: ' i10' } };
    expect(
      await text({
        ...lookup,
        each: ['', 'code', ' ', 'title', ' ', 'billable', ' ', 'weight', ' ', 'note', ''],
      }),
    ).toEqual(answered('I10 Essential {hypertension} 1 0.5 \n'));
    const { each: _, ...asJson } = query(lookup);
    expect((await inside.run(asJson)).stdout.head).toBe(
      '{"code":"I10","title":"Essential {hypertension}","billable":1,"weight":0.5,"note":null}\n',
    );
    expect(await text({ values: { query: 'nowhere' } })).toEqual(answered('Nothing found.\n'));
  });

  test.each([
    '"',
    "'; DROP TABLE pages; --",
    'a AND OR NOT',
    'pages:x*',
    '(((',
    '^ NEAR(a b, 2)',
    '',
    '   ',
    '\u0000',
    'Über',
  ])('take %j for words, never for syntax', async (words) => {
    const sqls = ['any_word', 'all_words', 'phrase'].map((name) => byWords.replace('any_word', name));
    for (const sql of sqls) expect((await text({ sql, values: { query: words } })).ending).toEqual(exited(0));
  });

  test('find words with accents, all of them, or one after another', async () => {
    expect(await found('any_word', 'cafe zebra')).toBe('c/2018');
    expect(await found('all_words', 'cafe zebra')).toBe('Nothing found.\n');
    expect(await found('phrase', 'not much')).toBe('c/2018');
    expect(await found('phrase', 'much not')).toBe('Nothing found.\n');
  });

  test('say the model’s mistake where SQL takes its text as syntax', async () => {
    const raw = { sql: 'SELECT path FROM pages WHERE pages MATCH :query', each: ['', 'path', ''] };
    expect(await text({ ...raw, values: { query: '"' } })).toEqual({
      ending: exited(1),
      stdout: '',
      stderr: expect.stringMatching(/^Error: .+\n$/),
    });
    expect(await text({ ...raw, values: { query: 'revenue' } })).toEqual(answered('a/2016\n'));
  });

  test.each([
    ['a database that is not there', { database: '/data/none.db' }, /unable to open/],
    ['a table that is not there', { sql: 'SELECT * FROM absent' }, /no such table: absent/],
    ['a column that is not there', { each: ['', 'title', ''] }, /no column title; it has: path, text, rank/],
    ['what is no SQL', { sql: 'SELEC' }, /syntax error/],
  ] as const)('are checked without being asked: %s', async (_, changes, said) => {
    expect(await text({ ...changes, check: true })).toMatchObject({
      ending: exited(1),
      stderr: expect.stringMatching(said),
    });
  });

  test('that are right are found right, and nothing is said', async () => {
    expect(await text({ check: true, values: {} })).toEqual(answered(''));
  });

  test('write nothing, whatever an author wrote', async () => {
    expect(
      (
        await text({
          sql: "INSERT INTO codes VALUES ('x', 'y', 0, 0, 0) RETURNING code",
          each: ['', 'code', ''],
        })
      ).stderr,
    ).toMatch(/readonly/);
    expect((await inside.sh('ls -A /data')).stdout.head).toBe('pages.db\n');
  });

  test('are answered by one process, which is there only where one was asked', async () => {
    expect(await answererPid()).toBe('');
    await text({});
    const pid = await answererPid();
    expect(pid).toMatch(/^\d+$/);
    await Promise.all([text({}), text({}), text({})]);
    expect(await answererPid()).toBe(pid);
  });

  test('are answered by nobody that the policy could signal, trace, read or speak to', async () => {
    await text({});
    const pid = await answererPid();
    const tries = [
      `kill -9 ${pid}`,
      `kill -STOP ${pid}`,
      `cat /proc/${pid}/environ`,
      `head -c1 /proc/${pid}/mem`,
      `ls /proc/${pid}/fd`,
      `echo x > /proc/${pid}/fd/0`,
      `ls -l /proc/${pid}/exe`,
      `echo 1000 > /proc/${pid}/oom_score_adj`,
    ];
    for (const attempt of tries)
      expect((await inside.sh(`(${attempt}) 2>&1`)).stdout.head).toMatch(/denied|not permitted/i);
    expect(await text({})).toMatchObject({ ending: exited(0) });
    expect(await answererPid()).toBe(pid);
  });

  test('that take too long end as a command does, and the next is answered again', async () => {
    const slow = await inside.run(query({ sql: endless, each: ['', 'c', ''] }), 500);
    expect(slow.ending).toEqual({ kind: 'timed_out', timeoutMs: 500 });
    expect(await text({})).toMatchObject({ ending: exited(0) });
  });

  const path = () => join(folder, 'breaks.db');

  describe('of a database that breaks under them', () => {
    const own = {
      database: '/data/breaks.db',
      sql: 'SELECT text FROM lines WHERE number = :number',
      each: ['', 'text', ''],
      values: { number: 4_000 },
    };
    beforeEach(async () => {
      await rm(path(), { force: true });
      const db = new DatabaseSync(path());
      db.exec(`CREATE TABLE lines (number INTEGER PRIMARY KEY, text TEXT);
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 5000)
        INSERT INTO lines SELECT x, 'line ' || x FROM n`);
      db.close();
      await chmod(path(), 0o644);
      expect(await text(own)).toEqual(answered('line 4000\n'));
    });

    test.each([
      [
        'whose pages are overwritten',
        (size: number) => writeAt(path(), 4_096, Buffer.alloc(size - 4_096, 7)),
      ],
      ['that is cut short', (size: number) => truncate(path(), Math.floor(size / 8))],
      ['that is emptied', () => truncate(path(), 0)],
    ])('%s: the database is at fault, not the model', async (_, harm) => {
      await harm((await stat(path())).size);
      expect((await text(own)).ending).toEqual(exited(brokenDatabaseExit));
      // Also for who asks next, in a process that never saw it whole.
      for (const pid of await hostPidsOf(1002)) process.kill(pid, 'SIGKILL');
      await expect.poll(() => hostPidsOf(1002)).toEqual([]);
      expect((await text(own)).ending).toEqual(exited(brokenDatabaseExit));
    });

    test('that is gone: found when it is opened again', async () => {
      await rm(path());
      for (const pid of await hostPidsOf(1002)) process.kill(pid, 'SIGKILL');
      await expect.poll(() => hostPidsOf(1002)).toEqual([]);
      expect((await text(own)).ending).toEqual(exited(brokenDatabaseExit));
    });
  });

  test('wait for those before them, and are not charged for that', async () => {
    await text({});
    const [slow, quick] = await Promise.all([
      inside.run(query({ sql: endless, each: ['', 'c', ''] }), 1_500),
      inside.run(query(), 1_000),
    ]);
    expect(slow.ending.kind).toBe('timed_out');
    expect(quick.ending).toEqual(exited(0));
    expect(quick.evidence.durationMs).toBeLessThan(1_000);
  });

  test('cut a flood as a command’s, and take no memory for it', async () => {
    const flood = `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 200000) SELECT hex(zeroblob(500)) AS t FROM n`;
    const { stdout, ending } = await inside.run(query({ sql: flood, each: ['', 't', ''] }));
    expect(ending).toEqual(exited(0));
    expect(stdout.head.length + stdout.tail.length).toBeLessThanOrEqual(65_536);
    expect(stdout.totalBytes).toBeLessThan(2 * mebibyte);
    const hungry = await text({ sql: 'SELECT hex(randomblob(200000000)) AS t', each: ['', 't', ''] });
    expect(hungry).toMatchObject({ ending: exited(1), stderr: expect.stringMatching(/memory|too big/) });
  });

  test('are answered although the policy holds every process that the sandbox may have', async () => {
    await inside.sh('i=0; while [ $i -lt 60 ]; do sleep 300 & i=$((i+1)); done 2>/dev/null; true');
    expect(await text({})).toMatchObject({ ending: exited(0) });
  });

  test('of an answerer that is killed are the model’s own, and the next is answered', async () => {
    await text({});
    const asked = inside.run(query({ sql: endless, each: ['', 'c', ''] }));
    await expect.poll(() => hostPidsOf(1002).then((pids) => pids.length)).toBeGreaterThan(0);
    for (const pid of await hostPidsOf(1002)) process.kill(pid, 'SIGKILL');
    expect((await asked).ending).toEqual({ kind: 'signalled', signal: 'SIGKILL' });
    expect(await text({})).toMatchObject({ ending: exited(0) });
  });

  /** As this machine sees them: in the sandbox's own range of ids. */
  const hostPidsOf = async (uid: number): Promise<readonly number[]> => {
    const record = JSON.parse(
      await readFile(join(node.stateFolder, 'sandboxes', inside.sandbox, 'record.json'), 'utf8'),
    ) as {
      idBase: number | null;
    };
    const wanted = `Uid:\t${(record.idBase ?? 0) + uid}\t`;
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const statuses = await Promise.all(
      pids.map((pid) => readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')),
    );
    return pids.filter((_, index) => statuses[index]?.includes(wanted) === true).map(Number);
  };

  test('have nobody left to answer them when a grader runs', async () => {
    await text({});
    const count =
      'n=0; for p in /proc/[0-9]*; do [ "$(stat -c %u $p)" = 1002 ] && n=$((n+1)); done; echo $n > "$CORRAL_SCORE_FILE"';
    const { grade } = await inside.run({
      kind: 'grade',
      turn: 1,
      argv: ['sh', '-c', count],
      files: {},
      stdin: '',
    });
    expect(grade).toEqual({ kind: 'ran', score: '0\n' });
  });
});
