import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFakeLog } from '#test/fakes/log.ts';
import { callId, rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { KeptCallText } from '#src/ports/kept-rollouts.ts';
import { createKeptLog, keptFolder, readCallTexts, readKept } from './kept-log.ts';

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

function open() {
  const counted = { written: 0, dropped: 0 };
  const kept = createKeptLog({
    folder,
    process: 'gateway',
    clock: systemClock,
    random: systemRandom,
    log: createFakeLog(),
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
  const texts = await Array.fromAsync(readCallTexts(keptFolder(folder), rolloutId('a')));
  expect(texts).toMatchObject([{ call: 'c1', output: { text: 'one\n\u001B[2J' } }]);
  expect(await Array.fromAsync(readKept(keptFolder(folder)))).toEqual([]);
  expect(counted.written).toBeGreaterThan(100);
});

test('a text beyond what waits for the disk is counted as dropped', async () => {
  const { kept, counted } = open();
  const mebibyte = 'x'.repeat(1024 * 1024);
  for (let index = 0; index < 65; index += 1) kept.keepText(textOf('a', mebibyte));
  expect(counted.dropped).toBeGreaterThan(0);
  await kept.flush();
});
