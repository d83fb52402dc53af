import { globSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repository } from '#infra/payload/repository.ts';
import { releasedImages } from '#infra/release/images/catalogue.ts';
import { leaksHere, leaksIn } from '#infra/release/leaks.ts';
import { run } from './support/processes.ts';
import { readChecksums, release } from './support/release.ts';
import { type UnpackedImage, unpackImage } from './support/unpacked-image.ts';

let folder = '';
const unpacked = new Map<string, ReadonlyMap<string, UnpackedImage>>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-images-'));
  const { outDir, version } = release();
  for (const name of releasedImages) {
    const archive = join(outDir, 'images', `${name}-${version}.oci.tar`);
    unpacked.set(name, await unpackImage(archive, join(folder, name)));
  }
});
afterAll(() => rm(folder, { recursive: true }));

function imageOf(name: string, architecture: 'amd64' | 'arm64'): UnpackedImage {
  const found = unpacked.get(name)?.get(architecture);
  if (found === undefined) throw new Error(`${name} is not there for ${architecture}`);
  return found;
}

const unpackedBytes = (layers: UnpackedImage['layers']) => layers.reduce((sum, { bytes }) => sum + bytes, 0);

test('corral has at most 150 MB, and corral-sandboxd at most 60 MB beyond its base', () => {
  for (const architecture of ['amd64', 'arm64'] as const) {
    expect(unpackedBytes(imageOf('corral', architecture).layers)).toBeLessThanOrEqual(150e6);
    const [, ...above] = imageOf('corral-sandboxd', architecture).layers;
    expect(unpackedBytes(above)).toBeLessThanOrEqual(60e6);
  }
});

const compilers = ['as', 'c++', 'cc', 'clang*', 'g++*', 'gcc*', 'go', 'ld', 'make', 'rustc', 'tcc'];
const managers = ['apk', 'apt*', 'corepack', 'dnf', 'dpkg*', 'npm', 'npx', 'pip*', 'rpm', 'yarn'];

test.each(releasedImages)('%s has no compiler and no package manager', (name) => {
  const { root } = imageOf(name, 'amd64');
  const folders = '{,usr/,usr/local/}{bin,sbin}';
  expect(
    globSync(`${folders}/*`, { cwd: root }).length + globSync('node', { cwd: root }).length,
  ).toBeGreaterThan(0);
  expect(
    globSync(
      [...compilers, ...managers].map((program) => `${folders}/${program}`),
      { cwd: root },
    ),
  ).toEqual([]);
});

test.each(releasedImages)(
  'no layer of %s has a secret or a path of the machine that built it',
  async (name) => {
    const leaks = leaksHere(process.env);
    for (const architecture of ['amd64', 'arm64'] as const)
      for (const { file } of imageOf(name, architecture).layers)
        expect(await leaksIn(file, leaks)).toEqual([]);
  },
);

test.each(releasedImages)(
  '%s says which version it is, of which commit, and whether it was tested',
  (name) => {
    for (const [architecture, tested] of [
      ['amd64', 'true'],
      ['arm64', 'false'],
    ] as const) {
      expect(imageOf(name, architecture).labels).toMatchObject({
        'org.opencontainers.image.title': name,
        'org.opencontainers.image.version': release().version,
        'org.opencontainers.image.revision': expect.stringMatching(/^[0-9a-f]{40}(?:-changed)?$/) as string,
        'dev.corral.tested': tested,
      });
    }
  },
);

/** Runs a program of an image of arm64. Absolute paths are those of the image. */
async function emulate(root: string, ...argv: readonly string[]): Promise<string> {
  const inImage = argv.map((word) => word.replace(/^\//, `${root}/`));
  return (await run('qemu-aarch64-static', ['-L', root, ...inImage])).stdout.trim();
}

describe('on arm64, in an emulator', () => {
  test('corral starts: Node, and the command line with the version', async () => {
    const { root } = imageOf('corral', 'arm64');
    expect(await emulate(root, '/usr/local/bin/node', '--version')).toMatch(/^v24\./);
    expect(await emulate(root, '/usr/local/bin/node', '/app/corral.mjs', '--version')).toBe(
      release().version,
    );
  });

  test('the payload starts by its own loader', async () => {
    const { root } = imageOf('corral-sandboxd', 'arm64');
    const loaded = ['/lib/ld.so', '--library-path', '/lib', '/node', '--version'];
    expect(await emulate(root, ...loaded)).toMatch(/^v24\./);
  });

  test('corral-local starts: its system, Redis, bubblewrap and the command line', async () => {
    const { root } = imageOf('corral-local', 'arm64');
    expect(await emulate(root, '/usr/bin/redis-server', '--version')).toContain('Redis server v=7');
    expect(await emulate(root, '/usr/bin/bwrap', '--version')).toContain('bubblewrap');
    expect(await emulate(root, '/usr/local/bin/node', '/usr/lib/corral/corral.mjs', '--version')).toBe(
      release().version,
    );
  });
});

test('the registry has each image under the digest of its archive', async () => {
  const { registry, version, outDir } = release();
  for (const name of releasedImages) {
    const inspect = ['inspect', '--raw', '--tls-verify=false', `docker://${registry}/${name}:${version}`];
    const { stdout: there } = await run('skopeo', inspect);
    const file = `oci-archive:${join(outDir, 'images', `${name}-${version}.oci.tar`)}`;
    const { stdout: here } = await run('skopeo', ['inspect', '--raw', file]);
    expect(there === here).toBe(true);
  }
});

test('a second build of this commit, from empty caches, has the same checksums', async () => {
  const { outDir, registry } = release();
  const other = join(folder, 'again');
  const env = { ...process.env, CORRAL_REGISTRY: registry, XDG_CACHE_HOME: join(folder, 'cache') };
  await run(process.execPath, [join(repository, 'infra/release/main.ts'), '--out', other], { env });
  expect(await readChecksums(other)).toBe(await readChecksums(outDir));
});
