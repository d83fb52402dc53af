import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { repository } from './repository.ts';

/** All that is compiled into the payload, and how. */
const sources = [
  'services/sandboxd/**/*.ts',
  'src/protocol/sandboxd/**/*.ts',
  'infra/payload/*.{ts,json}',
  'tsconfig.json',
];

/** A hash of everything that the payload is made of; short, since it becomes part of a folder's name. */
export async function payloadKey(): Promise<string> {
  const hash = createHash('sha256').update(`${process.version} ${process.platform} ${process.arch}`);
  for (const file of globSync(sources, { cwd: repository, exclude: ['**/*.test.ts'] }).toSorted()) {
    hash.update(`\0${file}\0`).update(await readFile(`${repository}/${file}`));
  }
  return hash.digest('hex').slice(0, 16);
}
