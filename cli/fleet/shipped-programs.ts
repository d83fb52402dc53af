import { createHash } from 'node:crypto';
import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { publishOnce } from '#infra/payload/publish-once.ts';
import { copyRuntime } from '#infra/payload/runtime.ts';
import { payloadLayout } from '#src/protocol/sandboxd/payload-layout.ts';
import type { Programs } from './programs.ts';

/** The folder of a release: this code, bundled, and next to it all that a fleet needs of Corral (`infra/distribution`). */
const release = import.meta.dirname;
const code = join(release, 'sandboxd');

/** As a release has them: bundled already. Only Node and its libraries come from this machine. */
export const programs: Programs = {
  buildPayload: async (targetDir) =>
    publishOnce(targetDir, { name: 'payload', key: await keyOfCode(), build: assemble }),
  servicesDir: () => Promise.resolve(release),
  examples: join(release, 'environments'),
};

async function assemble(dir: string): Promise<void> {
  await cp(code, join(dir, payloadLayout.code), { recursive: true });
  await copyRuntime(dir, (program) => join(release, 'native', `${program}-${process.arch}`));
}

async function keyOfCode(): Promise<string> {
  const hash = createHash('sha256').update(`${process.version} ${process.arch}`);
  for (const folder of [code, join(release, 'native')]) {
    for (const name of (await readdir(folder)).toSorted()) hash.update(await readFile(join(folder, name)));
  }
  return hash.digest('hex').slice(0, 16);
}
