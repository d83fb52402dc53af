import { appendFile, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createLogger } from '#src/platform/logging.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import { createEventLog } from './event-log.ts';
import { followFile } from './follow-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-follow-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const log = createLogger({ service: 'test', level: 'error', clock: systemClock });

const newLog = (changes: { readonly maxFileBytes?: number; readonly maxBytes?: number } = {}) =>
  createEventLog({ folder, process: 'gateway', clock: systemClock, random: systemRandom, log, ...changes });

const verdictOf = (rollout: string, run = 'nightly'): RolloutEvent => ({
  kind: 'verdict',
  atMs: 1_700_000_000_000,
  keyId: null,
  key: rolloutKey({
    tenant: tenantId('acme'),
    run: runId(run),
    rollout: rolloutId(rollout),
    attempt: 1,
    role: 'policy',
  }),
  environment: 'shell',
  version: 'v1',
  verdict: { kind: 'scorable' },
  score: 1,
  suspected: null,
  evidence: {},
});

const wanted = { tenant: tenantId('acme'), run: runId('nightly'), rollout: null };
const { signal } = new AbortController();

/** A reader that keeps its place in every file, as the index does. */
function reader() {
  const places = new Map<string, number>();
  return async (): Promise<readonly string[]> => {
    const read: string[] = [];
    for (const { name } of (await newLog().files()) ?? []) {
      const from = { file: name, fromByte: places.get(name) ?? 0 };
      for await (const { lines, readTo } of followFile(folder, from, wanted, signal)) {
        read.push(...lines.map(rolloutOf));
        places.set(name, readTo);
      }
    }
    return read;
  };
}

const rolloutOf = (line: string): string =>
  (JSON.parse(line) as { readonly key: string }).key.split('/')[2] ?? '';

test('a reader that comes back reads what was written since, once, over rotation and the start of other processes', async () => {
  const read = reader();
  const [one, other] = [newLog({ maxFileBytes: 500 }), newLog({ maxFileBytes: 500 })];
  const all: string[] = [];
  for (let step = 0; step < 6; step += 1) {
    for (const [name, writer] of [['a', one] as const, ['b', step < 3 ? other : newLog()] as const]) {
      writer.append(verdictOf(`${name}${step}`));
      writer.append(verdictOf('x', 'another-run'));
      await writer.flush();
    }
    expect((await read()).toSorted()).toEqual([`a${step}`, `b${step}`]);
    all.push(`a${step}`, `b${step}`);
  }
  expect((await readdir(folder)).length).toBeGreaterThan(6);
  expect(await read()).toEqual([]);
  expect((await reader()()).toSorted()).toEqual(all.toSorted());
});

test('a line that is not whole yet is read when it is, and one that a crash cut off never is', async () => {
  const read = reader();
  const path = join(folder, 'events-2026-11-30-gateway-abcdefgh-000001.jsonl');
  const [first, second] = [JSON.stringify(verdictOf('first')), JSON.stringify(verdictOf('second'))];
  await writeFile(path, `${first}\n${second.slice(0, 40)}`);
  expect(await read()).toEqual(['first']);
  await appendFile(path, second.slice(40));
  expect(await read()).toEqual([]);
  await appendFile(path, '\n');
  expect(await read()).toEqual(['second']);
});

test('a line longer than any event is passed over, and what follows is read', async () => {
  const path = join(folder, 'events-2026-11-30-gateway-abcdefgh-000001.jsonl');
  const key = 'acme/nightly/long/1/policy';
  await writeFile(
    path,
    `{"key":"${key}","x":"${'y'.repeat(900_000)}"}\n${JSON.stringify(verdictOf('next'))}\n`,
  );
  const read = reader();
  expect(await read()).toEqual(['next']);
  expect(await read()).toEqual([]);
});

test.each(['../secret.jsonl', 'log-id', 'kept', 'events-2026-11-30-gateway-abcdefgh-000009.jsonl'])(
  'a name that is no file of the log is gone, and is not opened: %s',
  async (file) => {
    await writeFile(join(folder, 'log-id'), JSON.stringify(verdictOf('hidden')));
    const chunks = followFile(folder, { file, fromByte: 0 }, wanted, signal);
    expect(await chunks.next()).toEqual({ done: true, value: 'gone' });
  },
);

test('files are listed with their size and the time of their first event', async () => {
  const writer = newLog();
  writer.append(verdictOf('a'));
  await writer.flush();
  const [file] = (await writer.files()) ?? [];
  const { size } = await stat(join(folder, file?.name ?? ''));
  expect(file).toMatchObject({ bytes: size, first_at_ms: 1_700_000_000_000 });
});
