import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openLogFile } from './log-file.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-log-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function write(lines: readonly string[], maxBytes?: number) {
  const log = openLogFile(join(folder, 'gateway.jsonl'), { nowMs: () => 0 }, maxBytes);
  const stream = new PassThrough();
  log.take(stream);
  stream.end(lines.join('\n'));
  await once(stream, 'close');
  return log;
}

test('JSON lines are kept as they are, other lines are wrapped', async () => {
  const log = await write(['{"level":"info"}', 'plain words', '']);
  expect(readFileSync(log.path, 'utf8').trim().split('\n')).toEqual([
    '{"level":"info"}',
    '{"time":"1970-01-01T00:00:00.000Z","text":"plain words"}',
  ]);
  expect(log.tail()).toEqual(['{"level":"info"}', 'plain words']);
});

test('a part that floods keeps two files of bounded size and its last lines', async () => {
  const log = await write(
    Array.from({ length: 1000 }, (_, index) => `{"line":${index}}`),
    1000,
  );
  expect(readdirSync(folder).sort()).toEqual(['gateway.1.jsonl', 'gateway.jsonl']);
  for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).size).toBeLessThanOrEqual(1000);
  expect(log.tail().at(-1)).toBe('{"line":999}');
});
