import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { releasedImages } from './images/catalogue.ts';
import type { Origin } from './origin.ts';

const run = promisify(execFile);

export type PublishWish = {
  readonly origin: Origin;
  readonly registry: string;
  readonly outDir: string;
  readonly say: (line: string) => void;
};

/**
 * Copies images and chart as they were built, so that their digests in the registry are those of the archives. It takes a login
 * there (`skopeo login`).
 */
export async function publish({ origin: { version }, registry, outDir, say }: PublishWish): Promise<void> {
  for (const name of releasedImages) {
    const to = `${registry}/${name}:${version}`;
    await copy(join(outDir, 'images', `${name}-${version}.oci.tar`), to);
    say(to);
  }
  // Not next to the image of the same name, whose tag it would take.
  const chart = `${registry}/charts/corral`;
  await copy(join(outDir, 'chart', `corral-chart-${version}.oci.tar`), `${chart}:${version}`);
  say(`oci://${chart} --version ${version}`);
}

async function copy(archive: string, to: string): Promise<void> {
  // A registry on this machine has no certificate.
  const tls = /^(?:127\.0\.0\.1|localhost)[:/]/.test(to) ? ['--dest-tls-verify=false'] : [];
  await run('skopeo', [
    'copy',
    '--quiet',
    '--all',
    '--preserve-digests',
    ...tls,
    `oci-archive:${archive}`,
    `docker://${to}`,
  ]);
}
