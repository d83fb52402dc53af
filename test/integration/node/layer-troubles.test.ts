import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ConfinedSite } from '#services/node/images/confined.ts';
import { unpackLayer } from '#services/node/images/unpack.ts';
import { tarOf } from '#test/builders/image-archive.ts';
import { confinedSite } from '#test/support/image-store.ts';

const mebibyte = 1024 * 1024;

let below: string;
let site: ConfinedSite;
const small = () => join(below, 'small');
beforeAll(async () => {
  below = mkdtempSync(join(tmpdir(), 'corral-layers-'));
  site = await confinedSite(below);
  for (const name of ['small', 'empty']) mkdirSync(join(below, name));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=755', 'small', small()]);
});
afterAll(() => {
  execFileSync('umount', [small()]);
  rmSync(below, { recursive: true });
});

const layer = tarOf({ path: 'filled', text: 'x'.repeat(4 * mebibyte) });
let names = 0;

/** Unpacks a layer of 4 MiB, of which a part goes to a disk of 1 MiB. */
function unpack(places: { readonly scratch?: string; readonly layer?: string }) {
  names += 1;
  const { scratch = 'scratch', layer: at = 'layer' } = places;
  const blob = join(below, 'blob');
  writeFileSync(blob, gzipSync(layer));
  return unpackLayer(
    {
      image: 'task:1',
      name: `layer-troubles-${names}`,
      blob,
      diffId: createHash('sha256').update(layer).digest('hex'),
      overlay: { below, lower: ['empty'], upper: `${at}/upper`, work: `${at}/work`, at: 'merged' },
      scratch,
      mostBytes: 32 * mebibyte,
      makeRoom: () => Promise.resolve(),
      signal: new AbortController().signal,
    },
    site,
  );
}

it.each([
  ['while a layer is decompressed', { scratch: 'small/scratch' }],
  ['while its files are written', { layer: 'small/layer' }],
])('a disk that is full %s says nothing of the image', async (_when, places) => {
  await expect(unpack(places)).rejects.toMatchObject({ code: 'provider_unavailable' });
});

it('the same layer is unpacked where there is room', async () => {
  await expect(unpack({})).resolves.toMatchObject({ ids: [0] });
});
