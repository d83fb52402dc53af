import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { VERSION as bundlerVersion } from 'rolldown';
import { type Built, publishOnce } from './publish-once.ts';
import { repository } from './repository.ts';

type Recipe = {
  readonly name: string;
  /** Patterns of files of the repository: all that goes in. */
  readonly sources: readonly string[];
  readonly build: (dir: string) => Promise<unknown>;
};

/** As {@link publishOnce}, by a hash of `sources`, this machine's kind, Node's version and the bundler's. */
export async function buildOnce(targetDir: string, { name, sources, build }: Recipe): Promise<Built> {
  return publishOnce(targetDir, { name, key: await keyOf(sources), build });
}

async function keyOf(sources: readonly string[]): Promise<string> {
  const machine = `${process.version} ${process.platform} ${process.arch}`;
  const hash = createHash('sha256').update(`${machine} ${bundlerVersion}`);
  for (const file of globSync(sources, { cwd: repository, exclude: ['**/*.test.ts'] }).toSorted()) {
    hash.update(`\0${file}\0`).update(await readFile(`${repository}/${file}`));
  }
  return hash.digest('hex').slice(0, 16);
}
