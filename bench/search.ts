import { chmod, mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { allWords } from '#services/sandboxd/helper/query-words.ts';
import type { QueryAction } from '#src/protocol/sandboxd/wire.ts';
import { atMost, type Benchmark, type Figure, median, within } from './figures.ts';
import { privateBytes } from './processes.ts';
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

/** What a search costs beside a call of `true` and the query itself; what 40 MB of data add to each sandbox that searches them, and what answers does. */
export const search: Benchmark = {
  name: 'search',
  run: async (say) => {
    const folder = await mkdtemp(join(tmpdir(), 'corral-search-'));
    try {
      await chmod(folder, 0o755);
      say(`making a database of ${rows} rows`);
      makeDatabase(join(folder, database), rows);
      return [await ofCall(folder, say), ...(await ofMemory(folder, say))];
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

function makeDatabase(path: string, count: number): void {
  const db = new DatabaseSync(path);
  db.exec("CREATE VIRTUAL TABLE codes USING fts5(code, title, tokenize = 'porter'); BEGIN");
  const insert = db.prepare('INSERT INTO codes VALUES (?, ?)');
  for (let row = 0; row < count; row += 1) insert.run(`C${row}`, titleOf(row));
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
  straight.settled(target, answer);
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

/** Searches of each sandbox before its memory is looked at: all make the same, as copies of one item nearly do. */
const searches = 40;
/** What docs/environments.md says, and a fifth. */
const answererMebibytes = 16;

/**
 * What sandboxes hold that search a database of 40 MB, beside those that make the same searches in one of a hundred rows: that is the
 * data's doing. The rest, beside sandboxes that search nothing, is the process that answers, which each has from its first search on.
 */
async function ofMemory(folder: string, say: (line: string) => void): Promise<readonly Figure[]> {
  const small = await mkdtemp(join(tmpdir(), 'corral-search-'));
  try {
    await chmod(small, 0o755);
    makeDatabase(join(small, database), 100);
    const without = await memoryOf(small, 0);
    const answering = await memoryOf(small, searches);
    const withData = await memoryOf(folder, searches);
    say(
      `${mebibytes(without)} MiB of its own without a search, ${mebibytes(answering)} MiB after ${searches} in 100 rows, ${mebibytes(withData)} MiB in ${rows}`,
    );
    const added = Math.max(0, withData - answering) / mebibyte;
    const answerer = (answering - without) / mebibyte;
    const what = 'memory of what answers, in each sandbox that has searched';
    return [
      atMost({ what: 'memory that the data adds to a sandbox', unit: 'MiB', value: added, floor: 1 }, 1),
      within({ what, unit: 'MiB', value: answerer, floor: answererMebibytes }),
    ];
  } finally {
    await rm(small, { recursive: true });
  }
}

const mebibytes = (bytes: number): string => (bytes / mebibyte).toFixed(1);

async function memoryOf(source: string, count: number): Promise<number> {
  await using straight = await startStraight([{ source, target: '/data' }]);
  const targets = await straight.create(sandboxes);
  for (const target of targets) {
    await straight.bind(target);
    for (let number = 0; number < count; number += 1)
      confirmed(straight, target, await straight.run(target, `m${number}`, actionFor(queryAt(number))));
  }
  return (await privateBytesOf(targets.map(({ sandbox }) => sandbox))) / sandboxes;
}

const viewOf = (pid: string) => readlink(`/proc/${pid}/ns/pid`).catch(() => '');

/** Of every process in these sandboxes: in one's view of processes are all of it, and sandboxd's environment says which it is. */
async function privateBytesOf(names: readonly string[]): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const views = new Set<string>();
  for (const pid of pids) {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    if (names.some((name) => environment.split('\0').includes(`CORRAL_SANDBOX_ID=${name}`)))
      views.add(await viewOf(pid));
  }
  if (views.size !== names.length) throw new Error(`${views.size} of ${names.length} sandboxes were found`);
  let bytes = 0;
  for (const pid of pids)
    if (views.has(await viewOf(pid))) bytes += await privateBytes(Number(pid)).catch(() => 0);
  return bytes;
}
