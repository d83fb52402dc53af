import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import { defaultCacheDir } from '#infra/images/build.ts';
import { corralImage, redisImage } from '#infra/images/catalogue.ts';
import type { Image } from '#infra/images/oci/archive.ts';
import { tar } from '#infra/images/oci/tar.ts';

/**
 * Each program of the services' images, in a root that has what the image has and nothing else, as a strict cluster runs it:
 * nothing of the root may be written, and the user is the image's.
 */
let root = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'corral-image-root-'));
  await unpack(await corralImage(defaultCacheDir()), join(root, 'corral'));
  await unpack(await redisImage(), join(root, 'redis'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function unpack(image: Image, folder: string): Promise<void> {
  for (const place of ['proc', 'dev', 'tmp']) await mkdir(join(folder, place), { recursive: true });
  for (const layer of image.layers) {
    const unpacking = spawn('tar', ['-xpf', '-', '-C', folder], { stdio: ['pipe', 'ignore', 'inherit'] });
    const ended = once(unpacking, 'exit');
    await pipeline(Readable.from(tar(layer)), unpacking.stdin);
    expect(await ended).toEqual([0, null]);
  }
}

type Ended = { readonly exitCode: number; readonly printed: string };

function inRootOf(image: string, ...argv: readonly string[]): Promise<Ended> {
  const places = ['--ro-bind', join(root, image), '/', '--ro-bind', '/proc', '/proc', '--dev', '/dev'];
  const user = ['--unshare-user', '--uid', '65532', '--gid', '65532', '--die-with-parent'];
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', NODE_ENV: 'production' };
  return new Promise((resolve) => {
    const child = execFile(
      'bwrap',
      [...places, '--tmpfs', '/tmp', ...user, '--', ...argv],
      { env },
      (_, stdout, stderr) => resolve({ exitCode: child.exitCode ?? -1, printed: stdout + stderr }),
    );
  });
}

test.each(['gateway', 'controller'])(
  'the %s finds all that it imports, and asks for its settings',
  async (name) => {
    const { printed } = await inRootOf('corral', 'node', `/app/${name}.mjs`);
    expect(printed).toContain('CORRAL_FLEET_KEY_FILE');
    expect(printed).not.toContain('ERR_MODULE_NOT_FOUND');
  },
);
test('the command line finds all that it imports', async () => {
  const { exitCode, printed } = await inRootOf('corral', 'node', '/app/corral.mjs', 'preflight', '--help');
  expect(exitCode).toBe(exitCodes.done);
  expect(printed).toContain('try every tool and grader');
});

test('a preflight that names no fleet is told to, since the image cannot start one', async () => {
  const preflight = ['/app/corral.mjs', 'preflight', '--environments', '/app/environments'];
  const { exitCode, printed } = await inRootOf('corral', 'node', ...preflight);
  expect(printed).toMatch(/not installed: redis-server, .*\n.*\n.*or name a fleet elsewhere with --url/);
  expect(exitCode).toBe(exitCodes.fleet);
});

test('Redis starts with its libraries', async () => {
  expect((await inRootOf('redis', 'redis-server', '--version')).printed).toContain('Redis server v=');
  expect((await inRootOf('redis', 'redis-cli', '--version')).printed).toContain('redis-cli');
});
