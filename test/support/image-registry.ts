import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { request } from 'undici';
import { freePort } from '#cli/fleet/free-port.ts';
import { savedImage } from '#test/builders/image-archive.ts';
import { eventually } from './eventually.ts';
import { configOf } from './image-store.ts';

const run = promisify(execFile);

/** Debian's registry of images, on this machine's loopback. */
export type ImageRegistry = AsyncDisposable & {
  /** Host and port. */
  readonly host: string;
  /** Pushes an image of these layers, and returns its digest. */
  push(name: string, layers: readonly Buffer[], config?: object): Promise<string>;
};

export async function startImageRegistry(): Promise<ImageRegistry> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-registry-'));
  const host = `127.0.0.1:${await freePort(0)}`;
  const file = join(folder, 'config.yml');
  const storage = { filesystem: { rootdirectory: join(folder, 'storage') } };
  // JSON is YAML.
  await writeFile(
    file,
    JSON.stringify({ version: 0.1, storage, http: { addr: host }, log: { level: 'error' } }),
  );
  const child = spawn('docker-registry', ['serve', file], { stdio: 'ignore' });
  await eventually(async () => ({ status: (await request(`http://${host}/v2/`)).statusCode }), {
    status: 200,
  });
  return {
    host,
    push: async (name, layers, config = {}) => {
      const archive = join(folder, `${name.replaceAll(/\W/g, '-')}.tar`);
      const digest = join(folder, 'digest');
      await writeFile(archive, savedImage(configOf(layers, config), layers));
      const flags = ['--insecure-policy', 'copy', '--dest-tls-verify=false', '--digestfile', digest];
      await run('skopeo', [...flags, `docker-archive:${archive}`, `docker://${host}/${name}`]);
      return (await run('cat', [digest])).stdout.trim();
    },
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await once(child, 'close');
      await rm(folder, { recursive: true });
    },
  };
}
