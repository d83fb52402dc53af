import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Agent, request } from 'undici';
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

/** With TLS: its certificate and its key, and the name that it is for. */
export type RegistryTls = { readonly name: string; readonly certificate: string; readonly key: string };

export async function startImageRegistry(tls: RegistryTls | null = null): Promise<ImageRegistry> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-registry-'));
  const host = `${tls?.name ?? '127.0.0.1'}:${await freePort(0)}`;
  const file = join(folder, 'config.yml');
  const storage = { filesystem: { rootdirectory: join(folder, 'storage') } };
  // JSON is YAML.
  await writeFile(
    file,
    JSON.stringify({ version: 0.1, storage, http: { addr: host, ...tlsOf(tls) }, log: { level: 'error' } }),
  );
  const child = spawn('docker-registry', ['serve', file], { stdio: 'ignore' });
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  const address = `${tls === null ? 'http' : 'https'}://${host}/v2/`;
  await eventually(async () => ({ status: (await request(address, { dispatcher })).statusCode }), {
    status: 200,
  });
  await dispatcher.close();
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

const tlsOf = (tls: RegistryTls | null) =>
  tls === null ? {} : { tls: { certificate: tls.certificate, key: tls.key } };
