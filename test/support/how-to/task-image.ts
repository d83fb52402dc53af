import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type TaskImage = {
  /** With its tag. */
  readonly name: string;
  /** Uncompressed tars, from the lowest to the highest. */
  readonly layers: readonly string[];
  readonly config: { readonly WorkingDir: string; readonly Env: readonly string[] };
};

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return `sha256:${hash.digest('hex')}`;
}

/** Writes an image of layers that are files, as `docker save` does, and returns the archive. */
export async function saveTaskImage(folder: string, { name, layers, config }: TaskImage): Promise<string> {
  const archive = join(folder, `${name.replaceAll(/\W/g, '-')}.tar`);
  const parts = `${archive}.parts`;
  await mkdir(parts, { recursive: true });
  const names = layers.map((_, index) => `${index}.tar`);
  for (const [index, file] of layers.entries()) await symlink(file, join(parts, `${index}.tar`));
  const platform = { architecture: process.arch === 'x64' ? 'amd64' : 'arm64', os: 'linux' };
  const rootfs = { type: 'layers', diff_ids: await Promise.all(layers.map(digestOf)) };
  await writeFile(join(parts, 'config.json'), JSON.stringify({ ...platform, config, rootfs }));
  const manifest = [{ Config: 'config.json', RepoTags: [name], Layers: names }];
  await writeFile(join(parts, 'manifest.json'), JSON.stringify(manifest));
  await run('tar', ['--dereference', '-cf', archive, '-C', parts, 'manifest.json', 'config.json', ...names]);
  await rm(parts, { recursive: true });
  return archive;
}

/** As `docker push` does, to a registry on this machine's loopback. */
export async function pushTaskImage(archive: string, reference: string): Promise<void> {
  const flags = ['--insecure-policy', 'copy', '--dest-tls-verify=false'];
  await run('skopeo', [...flags, `docker-archive:${archive}`, `docker://${reference}`]);
}
