import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { readImageConfig } from '#services/node/image/image-config.ts';

const run = promisify(execFile);

/** No registry has this host. */
export const repository = 'corral.local/strangers-';

export const imageName = (task: string): string => `${repository}${task.toLowerCase()}:1`;

/** An archive as `docker save` writes it, with the files of a built root as its only layer. `work`: an empty folder. */
export async function archiveOf(root: string, task: string, work: string): Promise<string> {
  const layer = join(work, 'layer.tar');
  await run('tar', [
    '--create',
    '--numeric-owner',
    '--xattrs',
    `--file=${layer}`,
    `--directory=${root}`,
    '.',
  ]);
  const image = readImageConfig(root);
  const config = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {
      WorkingDir: image?.workdir ?? '/',
      Env: Object.entries(image?.env ?? {}).map(([name, value]) => `${name}=${value}`),
    },
    rootfs: { type: 'layers', diff_ids: [`sha256:${await hashOf(layer)}`] },
  };
  const manifest = [{ Config: 'config.json', RepoTags: [imageName(task)], Layers: ['layer.tar'] }];
  await writeFile(join(work, 'config.json'), JSON.stringify(config));
  await writeFile(join(work, 'manifest.json'), JSON.stringify(manifest));
  const archive = join(work, 'image.tar');
  await run('tar', [
    '--create',
    `--file=${archive}`,
    `--directory=${work}`,
    'manifest.json',
    'config.json',
    'layer.tar',
  ]);
  return archive;
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
