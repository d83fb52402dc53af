import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HttpClient } from '#cli/gateway/http-client.ts';
import { followRun } from '#cli/stories/follow-run.ts';
import { openEventIndex } from '#src/adapters/event-index/event-index.ts';
import { createEventLog } from '#src/adapters/event-log/event-log.ts';
import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { ownerOf, rolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createLogger } from '#src/platform/logging.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { EventIndex } from '#src/ports/event-index.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import { FleetEvents } from '#src/reports/fleet-events.ts';
import { OwnEvents } from '#src/reports/own-events.ts';

/* One gateway's real log, small enough to rotate, followed as the commands do. */

let folder: string;
let index: EventIndex;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-follow-run-'));
  index = await openEventIndex(null);
});
afterEach(async () => {
  index.close();
  await rm(folder, { recursive: true });
});

const log = createLogger({ service: 'test', level: 'error', clock: systemClock });
const newLog = (changes: { readonly maxFileBytes?: number } = {}) =>
  createEventLog({ folder, process: 'gateway', clock: systemClock, random: systemRandom, log, ...changes });

const ask = () => Promise.reject(new Error('there is no other')) as never;

/** As the gateway's address answers, without HTTP between. */
function gateway(own = new OwnEvents({ log: newLog(), clock: systemClock })): HttpClient {
  const self = { name: 'gateway a', log: 'log-of-a' };
  const keepers = { all: () => Promise.resolve([]) };
  const fleet = new FleetEvents({ self, own, keepers, ask, clock: systemClock });
  return {
    send: () => Promise.reject(new Error('only lines are read here')),
    close: () => Promise.resolve(),
    lines: async ({ path }) => {
      const query = new URL(path, 'http://gateway').searchParams;
      const file = query.get('file');
      const follow = file === null ? ('files' as const) : { file, fromByte: Number(query.get('from')) };
      const wanted = { tenant: tenantId('acme'), run: runId('nightly'), rollout: null, follow };
      return trimmed(fleet.tell(wanted, query.get('log')));
    },
  };
}

async function* trimmed(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield line.trimEnd();
}

const verdictOf = (rollout: string, changes: { readonly atMs?: number; readonly stderr?: string } = {}) => ({
  kind: 'verdict' as const,
  atMs: changes.atMs ?? Date.now(),
  keyId: null,
  key: rolloutKey({
    tenant: tenantId('acme'),
    run: runId('nightly'),
    rollout: rolloutId(rollout),
    attempt: 1,
    role: 'policy',
  }),
  environment: 'shell',
  version: 'v1',
  verdict: { kind: 'scorable' as const },
  score: 1,
  suspected: null,
  evidence: {},
  why: {
    itemId: rollout,
    item: '{}',
    answer: {},
    reference: {},
    parts: [],
    stderr: changes.stderr ?? '',
  },
});

async function write(writer: ReturnType<typeof newLog>, ...events: readonly RolloutEvent[]): Promise<void> {
  for (const event of events) writer.append(event);
  await writer.flush();
}

const rollouts = () =>
  [...index.lines()].map((line) => (JSON.parse(line) as { readonly key: string }).key.split('/')[2]);

test('a run larger than any one answer is read whole, with why, and read on from there', async () => {
  const writer = newLog({ maxFileBytes: 12 * 1024 * 1024 });
  const stderr = 'x'.repeat(8_000);
  for (let step = 0; step < 25; step += 1)
    await write(
      writer,
      ...Array.from({ length: 200 }, (_, place) => verdictOf(`r${step}-${place}`, { stderr })),
    );
  expect((await readdir(folder)).length).toBeGreaterThan(2);
  expect(await followRun(gateway(), 'nightly', index)).toEqual([]);
  expect(new Set(rollouts()).size).toBe(5_000);
  expect(rollouts()).toHaveLength(5_000);
  expect([...index.lines()][0]).toContain('"why":');
  await write(writer, verdictOf('last'));
  expect(await followRun(gateway(), 'nightly', index)).toEqual([]);
  expect(rollouts()).toHaveLength(5_001);
});

test('files that went after they were read stay in the index, and files that went before are named', async () => {
  const writer = newLog({ maxFileBytes: 1 });
  await write(writer, verdictOf('a', { atMs: Date.now() - 5_000 }));
  await write(writer, verdictOf('b'));
  expect(await followRun(gateway(), 'nightly', index)).toEqual([]);
  const read = (await readdir(folder)).toSorted();
  await write(writer, verdictOf('c'));
  const unread = (await readdir(folder)).filter((name) => !read.includes(name));
  await write(writer, verdictOf('d'));
  await rm(join(folder, read[0] ?? ''));
  expect(await followRun(gateway(), 'nightly', index)).toEqual([]);
  expect(rollouts()).toEqual(['a', 'b', 'c', 'd']);
  await write(writer, verdictOf('e'));
  const newer = (await readdir(folder)).filter((name) => ![...read, ...unread].includes(name)).toSorted();
  await write(writer, verdictOf('f'));
  await rm(join(folder, newer[1] ?? ''));
  expect(await followRun(gateway(), 'nightly', index)).toMatchObject([
    { keeper: 'gateway a', told: 'some', why: expect.stringMatching(/^1 of its files before .*000006/) },
  ]);
  expect(rollouts()).toEqual(['a', 'b', 'c', 'd', 'f']);
});

test('what was written to the newest file before it went is named, too', async () => {
  const writer = newLog({ maxFileBytes: 500 });
  await write(writer, verdictOf('a'));
  expect(await followRun(gateway(), 'nightly', index)).toEqual([]);
  const [first = ''] = await readdir(folder);
  await write(writer, verdictOf('lost', { stderr: 'x'.repeat(500) }));
  await write(writer, verdictOf('next', { atMs: Date.now() + 60_000 }));
  await rm(join(folder, first));
  expect(await followRun(gateway(), 'nightly', index)).toMatchObject([
    { why: expect.stringContaining('written after it was last read') },
  ]);
});

test.each([
  ['before the run began: it has all of it', 10_000, []],
  ['while a rollout was open: it is named', 2_000, [/^1 of its files before .*000002/]],
])('the first file of a log went %s', async (_, openedAtMs, whys) => {
  const writer = newLog({ maxFileBytes: 1 });
  await write(writer, verdictOf('gone', { atMs: 1 }));
  const { why: _why, ...other } = verdictOf('of-another-run', { atMs: 5_000 });
  const key = rolloutKey({ ...ownerOf(other.key), run: runId('another') });
  await write(writer, { ...other, key });
  await write(writer, { ...verdictOf('a', { atMs: 10_000 }), openedAtMs });
  await rm(join(folder, (await readdir(folder)).toSorted()[0] ?? ''));
  const missing = await followRun(gateway(), 'nightly', index);
  expect(missing?.map(({ why }) => why)).toEqual(whys.map((why) => expect.stringMatching(why)));
  expect(rollouts()).toEqual(['a']);
});

test('a process that is busy is asked again, and what it says is read', async () => {
  const writer = newLog();
  await write(writer, verdictOf('a'));
  const own = new OwnEvents({ log: newLog(), clock: systemClock });
  const client = gateway(own);
  const { signal } = new AbortController();
  const others = [1, 2].map(() =>
    own.tell({ tenant: tenantId('acme'), run: runId('nightly'), rollout: null }, signal),
  );
  let pages = 0;
  const counting: HttpClient = {
    ...client,
    lines: async (asked) => {
      // The list comes, then both places are taken, until the second question.
      if (asked.path.includes('file=')) {
        pages += 1;
        if (pages === 1) await Promise.all(others.map((other) => other.next()));
        else await Promise.all(others.map((other) => other.return({ told: 'some', why: null })));
      }
      return client.lines(asked);
    },
  };
  expect(await followRun(counting, 'nightly', index)).toEqual([]);
  expect([pages, rollouts()]).toEqual([2, ['a']]);
});

test('a gateway that refuses the question is too old to be followed', async () => {
  const old: HttpClient = { ...gateway(), lines: () => Promise.resolve(null) };
  expect(await followRun(old, 'nightly', index)).toBeNull();
});
