import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFakeLog } from '#test/fakes/log.ts';
import { callId, rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { KeptCallText, KeptRollout } from '#src/ports/kept-rollouts.ts';
import { createKeptLog, keptFolder, keptLines, readCallTexts, readKept } from './kept-log.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-kept-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const key = (rollout: string) =>
  rolloutKey({
    tenant: tenantId('lab'),
    run: runId('run-42'),
    rollout: rolloutId(rollout),
    attempt: 1,
    role: 'policy',
  });

const textOf = (rollout: string, output: string): KeptCallText => ({
  atMs: 0,
  key: key(rollout),
  environment: 'env',
  version: 'v',
  call: callId('c1'),
  tool: 'shell',
  arguments: { text: '{"command":"ls"}', whole: 16 },
  output: { text: output, whole: output.length },
});

function open(maxBytes = 1024 ** 3) {
  const counted = { written: 0, dropped: 0 };
  const kept = createKeptLog({
    folder,
    process: 'gateway',
    clock: systemClock,
    random: systemRandom,
    log: createFakeLog(),
    maxBytes,
    onWritten: (bytes) => void (counted.written += bytes),
    onDropped: (lines) => void (counted.dropped += lines),
  });
  return { kept, counted };
}

test('call texts come back for their rollout alone, and are no graded rollouts', async () => {
  const { kept, counted } = open();
  kept.keepText(textOf('a', 'one\n\u001B[2J'));
  kept.keepText(textOf('b', 'two'));
  await kept.flush();
  const texts = await Array.fromAsync(
    readCallTexts(keptLines(keptFolder(folder), true), '/a/', ({ rollout }) => rollout === 'a'),
  );
  expect(texts).toMatchObject([{ call: 'c1', output: { text: 'one\n\u001B[2J' } }]);
  expect(await Array.fromAsync(readKept(keptLines(keptFolder(folder))))).toEqual([]);
  expect(counted.written).toBeGreaterThan(100);
});

test('a text beyond what waits for the disk is counted as dropped', async () => {
  const { kept, counted } = open();
  const mebibyte = 'x'.repeat(1024 * 1024);
  for (let index = 0; index < 65; index += 1) kept.keepText(textOf('a', mebibyte));
  expect(counted.dropped).toBeGreaterThan(0);
  await kept.flush();
});

const rolloutOf = (name: string): KeptRollout => ({
  atMs: 0,
  key: key(name),
  environment: 'env',
  version: 'v',
  item: { padding: 'x'.repeat(6_000) },
  score: 1,
  toolCalls: 0,
  backgroundMs: 0,
  document: JSON.stringify({ rollout: name, sample: {}, calls: [], missing: { arguments: 0, outputs: 0 } }),
});

const gradedNames = async () => {
  const names: string[] = [];
  for await (const { rollout } of readKept(keptLines(keptFolder(folder)))) names.push(rollout.rollout);
  return names.toSorted();
};

const maxBytes = 128 * 1024;

test('call texts without end leave graded rollouts half of the bytes', async () => {
  const { kept } = open(maxBytes);
  const graded = ['a', 'b', 'c', 'd'];
  for (const name of graded) {
    kept.keep(rolloutOf(name));
    await kept.flush();
  }
  for (let index = 0; index < 60; index += 1) {
    kept.keepText(textOf('text', 'x'.repeat(8_000)));
    await kept.flush();
  }
  kept.keep(rolloutOf('e'));
  await kept.flush();
  expect(await gradedNames()).toEqual([...graded, 'e']);
  expect(await bytesBelow(folder)).toBeLessThanOrEqual(maxBytes);
});

test('without call texts graded rollouts have more than half of the bytes, which texts take back', async () => {
  const { kept } = open(maxBytes);
  for (let index = 10; index < 50; index += 1) {
    kept.keep(rolloutOf(`r${index}`));
    await kept.flush();
  }
  expect((await gradedNames()).length * 6_000).toBeGreaterThan(maxBytes / 2);
  for (let index = 0; index < 60; index += 1) {
    kept.keepText(textOf('text', 'x'.repeat(8_000)));
    await kept.flush();
    expect(await bytesBelow(folder)).toBeLessThanOrEqual(maxBytes);
  }
  expect((await gradedNames()).at(-1)).toBe('r49');
});

async function bytesBelow(path: string): Promise<number> {
  const files = (await readdir(path, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
  const sizes = files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
