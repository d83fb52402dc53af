import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { layer } from '../contents/tree.ts';
import { type Image, writeArchive } from './archive.ts';
import { header } from './tar.ts';

const run = promisify(execFile);
type Described = { readonly digest: string; readonly size: number };

async function fileOf(archive: string, path: string): Promise<Buffer> {
  const options = { encoding: 'buffer', maxBuffer: 1 << 26 } as const;
  return (await run('tar', ['-xOf', archive, path], options)).stdout;
}

async function jsonOf(archive: string, path: string) {
  const text = (await fileOf(archive, path)).toString();
  return JSON.parse(text) as Record<string, Described[] & Described>;
}

const blobPath = ({ digest }: Described) => `blobs/${digest.replace(':', '/')}`;

describe('an image archive', () => {
  let folder: string;
  let image: Image;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corral-archive-'));
    await writeFile(join(folder, 'program'), 'x'.repeat(1000));
    const long = `${'deep/'.repeat(30)}file`;
    image = {
      name: 'corral.local/test:1',
      layers: [
        layer([
          { kind: 'file', path: 'bin/program', mode: 0o755, source: join(folder, 'program') },
          { kind: 'link', path: 'bin/alias', to: 'program' },
          { kind: 'text', path: long, mode: 0o644, text: 'deep' },
        ]),
        layer([{ kind: 'folder', path: 'tmp', mode: 0o1777 }]),
      ],
      config: { Cmd: ['program'] },
    };
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const written = async (name: string) => {
    const archive = join(folder, name);
    const layerBytes = await writeArchive(image, archive);
    return { archive, layerBytes, bytes: await readFile(archive) };
  };

  it('has the same bytes whenever it is made', async () => {
    const [one, other] = await Promise.all([written('one.tar'), written('other.tar')]);
    expect(one.bytes.equals(other.bytes)).toBe(true);
  });

  it('names every piece by its own hash and size', async () => {
    const { archive, layerBytes } = await written('whole.tar');
    const [manifest] = (await jsonOf(archive, 'index.json'))['manifests'] ?? [];
    if (manifest === undefined) throw new Error('the index names no manifest');
    const { config, layers } = await jsonOf(archive, blobPath(manifest));
    if (config === undefined || layers === undefined) throw new Error('the manifest names no pieces');
    for (const piece of [manifest, config, ...layers]) {
      const bytes = await fileOf(archive, blobPath(piece));
      expect(piece.size).toBe(bytes.length);
      expect(piece.digest).toBe(`sha256:${createHash('sha256').update(bytes).digest('hex')}`);
    }
    expect(layers.map(({ size }) => size)).toEqual(layerBytes);
  });

  it("has layers that tar reads: modes, links and long paths, all of them root's", async () => {
    const { archive } = await written('read.tar');
    const [manifest] = (await jsonOf(archive, 'index.json'))['manifests'] ?? [];
    const { layers } = await jsonOf(archive, blobPath(manifest ?? { digest: '', size: 0 }));
    const listed = await Promise.all(
      (layers ?? []).map(async (piece) => {
        const file = join(folder, piece.digest);
        await writeFile(file, await fileOf(archive, blobPath(piece)));
        return (await run('tar', ['--numeric-owner', '-tvf', file])).stdout;
      }),
    );
    const all = listed.join('');
    expect(all).toMatch(/^drwxr-xr-x 0\/0 .* bin\/$/m);
    expect(all).toMatch(/^-rwxr-xr-x 0\/0 +1000 .* bin\/program$/m);
    expect(all).toMatch(/^lrwxrwxrwx 0\/0 .* bin\/alias -> program$/m);
    expect(all).toMatch(/^drwxrwxrwt 0\/0 .* tmp\/$/m);
    expect(all).toContain(`${'deep/'.repeat(30)}file`);
  });
});

it('refuses a path that no tar archive can hold, rather than cut it', () => {
  expect(() => header({ kind: 'link', path: 'x'.repeat(300), to: '' }, 0)).toThrow(RangeError);
});
