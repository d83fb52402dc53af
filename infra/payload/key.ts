import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { VERSION as bundlerVersion } from 'rolldown';
import { repository } from './repository.ts';

/** All that is bundled into the payload, and how. */
const sources = [
  'services/sandboxd/**/*.ts',
  'src/protocol/sandboxd/**/*.ts',
  'src/platform/memory-account.ts',
  'infra/payload/*.ts',
  'infra/payload/native/*',
];

/** A hash of everything that the payload is made of; short, since it becomes part of a folder's name. */
export async function payloadKey(): Promise<string> {
  const machine = `${process.version} ${process.platform} ${process.arch}`;
  const hash = createHash('sha256').update(`${machine} ${bundlerVersion}`);
  for (const file of globSync(sources, { cwd: repository, exclude: ['**/*.test.ts'] }).toSorted()) {
    hash.update(`\0${file}\0`).update(await readFile(`${repository}/${file}`));
  }
  return hash.digest('hex').slice(0, 16);
}
