import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Architecture } from '#src/protocol/sandboxd/system-call-filter.ts';
import { publishOnce } from '../payload/publish-once.ts';
import { repository } from '../payload/repository.ts';

const run = promisify(execFile);

type Lock = {
  readonly packages: Readonly<
    Record<string, { readonly version: string; readonly integrity: string } | undefined>
  >;
};

export type NodeBinary = { readonly file: string; readonly license: string; readonly version: string };

/**
 * Node for an architecture, which may be another than this machine's: the npm package that the lock file names, checked against its
 * hash there.
 */
export async function nodeBinary(architecture: Architecture, cacheDir: string): Promise<NodeBinary> {
  const name = `node-linux-${architecture}`;
  const lock = JSON.parse(await readFile(join(repository, 'package-lock.json'), 'utf8')) as Lock;
  const locked = lock.packages[`node_modules/${name}`];
  if (locked === undefined) throw new Error(`package-lock.json names no ${name}`);
  const { dir } = await publishOnce(cacheDir, {
    name: `release-${name}`,
    key: locked.version.replaceAll('.', '-'),
    build: (folder) => unpack(`${name}@${locked.version}`, locked.integrity, folder),
  });
  const file = join(dir, 'package/bin/node');
  await access(file);
  return { file, license: join(dir, 'package/LICENSE'), version: locked.version };
}

async function unpack(what: string, integrity: string, folder: string): Promise<void> {
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder, what], {
    cwd: repository,
  });
  const packed = join(folder, stdout.trim());
  const digest = createHash('sha512')
    .update(await readFile(packed))
    .digest('base64');
  if (`sha512-${digest}` !== integrity)
    throw new Error(`${what} has another hash than package-lock.json says: ${digest}`);
  await run('tar', ['-xzf', packed, '-C', folder, 'package/bin/node', 'package/LICENSE']);
  await run('rm', [packed]);
}
