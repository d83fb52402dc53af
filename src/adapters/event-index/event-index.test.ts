import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { openEventIndex } from './event-index.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-index-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const keyOf = (rollout: string) =>
  rolloutKey({
    tenant: tenantId('acme'),
    run: runId('nightly'),
    rollout: rolloutId(rollout),
    attempt: 1,
    role: 'policy',
  });
const lineOf = (rollout: string, atMs: number) => ({
  key: keyOf(rollout),
  atMs,
  sinceMs: atMs - 1,
  line: `${rollout}${atMs}`,
});
const page = (fromByte: number, readTo: number, ...lines: ReturnType<typeof lineOf>[]) => ({
  log: 'l',
  file: 'f',
  fromByte,
  readTo,
  isAll: false,
  lines,
});
const listed = { log: 'l', keeper: 'gateway a', heardAtMs: 5 };

async function opened() {
  const index = await openEventIndex(join(folder, 'runs/x.sqlite'));
  index.list(listed, [{ name: 'f', bytes: 100, firstAtMs: 1 }]);
  return index;
}

test('lines come by rollout and time, whatever their order and after the index was closed', async () => {
  const index = await opened();
  index.store(page(0, 50, lineOf('b', 2), lineOf('a', 9)));
  index.store(page(50, 100, lineOf('b', 1), lineOf('a', 3)));
  index.close();
  const again = await opened();
  expect([...again.lines()]).toEqual(['a3', 'a9', 'b1', 'b2']);
  expect(again.span()).toEqual({ sinceMs: 0, lastAtMs: 9 });
  expect(again.files()).toEqual([
    { log: 'l', name: 'f', readTo: 100, bytes: 100, firstAtMs: 1, foundAtMs: 5, listedAtMs: 5 },
  ]);
  again.close();
});

test('of two commands that read the same bytes one stores them', async () => {
  const [one, other] = [await opened(), await opened()];
  expect(one.store(page(0, 50, lineOf('a', 1)))).toBe(true);
  expect(other.store(page(0, 50, lineOf('a', 1)))).toBe(false);
  expect([...other.lines()]).toEqual(['a1']);
  one.close();
  other.close();
});

test('a page that cannot be stored whole leaves neither its lines nor its place', async () => {
  const index = await opened();
  const broken = { ...lineOf('a', 1), line: Symbol('no text') as never };
  expect(() => index.store(page(0, 50, lineOf('b', 1), broken))).toThrow();
  expect([[...index.lines()], index.files()[0]?.readTo]).toEqual([[], 0]);
  index.close();
});

test('an index without a file is gone with its process, and one with a file is its owner’s alone', async () => {
  const index = await openEventIndex(null);
  index.list(listed, [{ name: 'f', bytes: 1, firstAtMs: null }]);
  expect(index.files()).toHaveLength(1);
  index.close();
  (await opened()).close();
  expect(statSync(join(folder, 'runs/x.sqlite')).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, 'runs')).mode & 0o777).toBe(0o700);
});

test('a file that is no index is an error, and stays as it is', async () => {
  const path = join(folder, 'x.sqlite');
  const text = 'no database, but a text of an operator';
  writeFileSync(path, text);
  await expect(openEventIndex(path)).rejects.toThrow();
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test('a reader goes on after a mark, and reads one rollout in the order of its time', async () => {
  const index = await opened();
  index.list(listed, [{ name: 'f', bytes: 30, firstAtMs: 1 }]);
  index.store(page(0, 10, lineOf('a', 2), lineOf('b', 1)));
  const [first, second] = index.after(0, 10);
  expect([first?.line, second?.line]).toEqual(['a2', 'b1']);
  expect(index.after(0, 1)).toEqual([first]);
  index.store(page(10, 20, lineOf('a', 1)));
  expect(index.after(second?.mark ?? 0, 10).map(({ line }) => line)).toEqual(['a1']);
  expect(index.linesOf(keyOf('a'))).toEqual(['a1', 'a2']);
  index.close();
});
