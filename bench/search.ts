import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { allWords } from '#services/sandboxd/helper/query-words.ts';
import type { QueryAction } from '#src/protocol/sandboxd/wire.ts';
import { atMost, type Benchmark, type Figure, median } from './figures.ts';
import { startStraight, type Straight } from './straight.ts';

const database = 'codes.db';
/** As many as there are codes of ICD-10: some 40 MB with their index. */
const rows = 75_000;
const wordsOfRow = 60;
const vocabulary = 4_000;
const sandboxes = 8;
const warmUps = 5;
const pairs = 100;
const mebibyte = 1024 * 1024;
const sql =
  'SELECT code, title FROM codes WHERE codes MATCH all_words(:query) ORDER BY bm25(codes, 1, 2) LIMIT 12';

/** What a search costs beside a call of `true` and the query itself, and what 40 MB of data add to each sandbox that reads them. */
export const search: Benchmark = {
  name: 'search',
  run: async (say) => {
    const folder = await mkdtemp(join(tmpdir(), 'corral-search-'));
    try {
      await chmod(folder, 0o755);
      say(`making a database of ${rows} rows`);
      makeDatabase(join(folder, database));
      return [await ofCall(folder, say), await ofMemory(folder, say)];
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

function makeDatabase(path: string): void {
  const db = new DatabaseSync(path);
  db.exec("CREATE VIRTUAL TABLE codes USING fts5(code, title, tokenize = 'porter'); BEGIN");
  const insert = db.prepare('INSERT INTO codes VALUES (?, ?)');
  for (let row = 0; row < rows; row += 1) insert.run(`C${row}`, titleOf(row));
  db.exec("COMMIT; INSERT INTO codes(codes) VALUES ('optimize'); VACUUM");
  db.close();
}

/** The same words in every run; low numbers are common, as in a language. */
const titleOf = (row: number): string =>
  Array.from({ length: wordsOfRow }, (_, place) => wordAt(row * wordsOfRow + place)).join(' ');
const wordAt = (number: number): string => {
  const share = ((number * 2_654_435_761) % 2 ** 32) / 2 ** 32;
  return `word${Math.floor(share * share * vocabulary)}`;
};
const queryAt = (number: number): string => `${wordAt(number * 7)} ${wordAt(number * 13 + 5)}`;

const actionFor = (query: string): QueryAction => ({
  kind: 'query',
  database: `/data/${database}`,
  sql,
  values: { query },
  each: ['', 'code', ' ', 'title', ''],
  none: 'none',
});

async function ofCall(folder: string, say: (line: string) => void): Promise<Figure> {
  await using straight = await startStraight([{ source: folder, target: '/data' }]);
  const [target] = await straight.create(1);
  if (target === undefined) throw new Error('no sandbox');
  await straight.bind(target);
  const own = ownQuery(join(folder, database));
  const times = { search: [] as number[], nothing: [] as number[], query: [] as number[] };
  say(`${pairs} searches, calls of true, and queries of our own, in turns`);
  for (let number = -warmUps; number < pairs; number += 1) {
    const query = queryAt(number + warmUps);
    const took = {
      search: await timed(async () =>
        confirmed(straight, target, await straight.run(target, `s${number}`, actionFor(query))),
      ),
      nothing: await timed(async () =>
        confirmed(
          straight,
          target,
          await straight.run(target, `t${number}`, { kind: 'exec', argv: ['true'] }),
        ),
      ),
      query: await timed(() => own(query)),
    };
    if (number < 0) continue;
    for (const name of ['search', 'nothing', 'query'] as const) times[name].push(took[name]);
  }
  const floor = median(times.nothing) + median(times.query);
  say(`true ${median(times.nothing).toFixed(1)} ms, the query itself ${median(times.query).toFixed(1)} ms`);
  return atMost(
    {
      what: 'a search, beside a call of true and the query itself',
      unit: 'ms',
      value: median(times.search),
      floor,
    },
    1.5,
  );
}

type Target = Awaited<ReturnType<Straight['create']>>[number];
type Answer = Awaited<ReturnType<Straight['run']>>;

function confirmed(straight: Straight, target: Target, answer: Answer): void {
  if (answer.ending.kind !== 'exited' || answer.ending.exitCode !== 0)
    throw new Error(JSON.stringify(answer));
  straight.confirm(target, answer);
}

function ownQuery(path: string): (query: string) => Promise<unknown> {
  const db = new DatabaseSync(path, { readOnly: true });
  db.function('all_words', { deterministic: true }, (text) => allWords(String(text)));
  db.exec('PRAGMA mmap_size = 1073741824');
  return (query) => Promise.resolve(db.prepare(sql).all({ query }));
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}

/** Private memory of all processes of sandboxes that have read all of the data, less that of those that have none. */
async function ofMemory(folder: string, say: (line: string) => void): Promise<Figure> {
  const read = `cat /data/${database} > /dev/null 2>&1; sleep 300 &`;
  const [without, withData] = [
    await memoryOf([], read),
    await memoryOf([{ source: folder, target: '/data' }], read),
  ];
  const added = Math.max(0, withData - without) / mebibyte;
  say(
    `${(without / mebibyte).toFixed(1)} MiB of its own without data, ${(withData / mebibyte).toFixed(1)} MiB with`,
  );
  return atMost({ what: 'memory that the data adds to a sandbox', unit: 'MiB', value: added, floor: 1 }, 1);
}

async function memoryOf(data: Parameters<typeof startStraight>[0], command: string): Promise<number> {
  await using straight = await startStraight(data);
  const targets = await straight.create(sandboxes);
  for (const target of targets) {
    await straight.bind(target);
    await straight.exec(target, 'read', command);
  }
  return (await privateBytesOf(targets.map(({ sandbox }) => sandbox))) / sandboxes;
}

/** By what each process says of itself; those of a sandbox have its host name's namespace, told by sandboxd's environment. */
async function privateBytesOf(names: readonly string[]): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  let bytes = 0;
  for (const pid of pids) {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    if (!names.some((name) => environment.split('\0').includes(`CORRAL_SANDBOX_ID=${name}`))) continue;
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '');
    for (const [, kib = '0'] of rollup.matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB$/gm))
      bytes += Number(kib) * 1024;
  }
  return bytes;
}
