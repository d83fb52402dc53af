import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { unpackLayer } from '#services/node/images/unpack.ts';
import { tarOf } from '#test/builders/image-archive.ts';
import { confinedSite } from '#test/support/image-store.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-unpack-'));
  for (const each of ['empty', 'pull']) mkdirSync(join(folder, each));
});
afterEach(() => rmSync(folder, { recursive: true }));

type MakeRoom = (bytes: number, files: number) => Promise<void>;

async function unpack(layer: Buffer, makeRoom: MakeRoom) {
  const blob = join(folder, 'layer');
  writeFileSync(blob, gzipSync(layer));
  const overlay = {
    below: folder,
    lower: ['empty'],
    upper: 'pull/tree',
    work: 'pull/work',
    at: 'pull/merged',
  };
  return unpackLayer(
    {
      image: 'task:1',
      name: 'image-1',
      blob,
      diffId: createHash('sha256').update(layer).digest('hex'),
      overlay,
      scratch: 'pull/scratch',
      mostBytes: 2 ** 30,
      makeRoom,
      signal: new AbortController().signal,
    },
    await confinedSite(folder),
  );
}

it('room is made for what a packed layer holds before anything of it is written', async () => {
  const layer = tarOf({ path: 'zeros', text: '\0'.repeat(4 * 1024 * 1024) });
  const asked: { readonly bytes: number; readonly files: number; readonly written: number }[] = [];
  await unpack(layer, (bytes, files) => {
    asked.push({ bytes, files, written: readdirSync(join(folder, 'pull/scratch')).length });
    return Promise.resolve();
  });
  expect(asked).toEqual([
    { bytes: layer.length, files: 0, written: 0 },
    { bytes: layer.length, files: 1, written: 1 },
  ]);
});

it('without room nothing is written', async () => {
  const refusal = new Error('there is no room');
  await expect(unpack(tarOf({ path: 'a', text: 'a' }), () => Promise.reject(refusal))).rejects.toBe(refusal);
  expect(readdirSync(join(folder, 'pull/scratch'))).toEqual([]);
});
