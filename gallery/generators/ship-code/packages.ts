import { createCipheriv, createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Defect } from './defects.ts';

/** Where npm's packages are: `NAME-VERSION` of each package, and what they depend on. */
export const packagesFolder = join(import.meta.dirname, 'packages/node_modules');

export const versionFolder = ({ package: name }: Defect, version: string): string =>
  join(packagesFolder, `${name}-${version}`);

/** What the packages depend on, without the packages themselves: a later version of one is the answer. */
export function copyDependencies(target: string): void {
  for (const name of readdirSync(packagesFolder)) {
    if (/-\d+\.\d+\.\d+$/.test(name) || name.startsWith('.')) continue;
    cpSync(join(packagesFolder, name), join(target, name), { recursive: true });
  }
}

/** Files that a fix may change. */
export function sourcesOf(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names
    .filter(
      (name) =>
        name.endsWith('.js') && !/^(?:test|benchmark|benchmarks|node_modules|examples?|eslint)/.test(name),
    )
    .toSorted();
}

/** The source files that differ between both versions of a defect, as the repaired version has them. */
export function fixOf(defect: Defect): ReadonlyMap<string, string> {
  const [before, after] = [versionFolder(defect, defect.from), versionFolder(defect, defect.to)];
  const old = new Set(sourcesOf(before));
  const text = (folder: string, path: string) => readFileSync(join(folder, path), 'utf8');
  return new Map(
    sourcesOf(after).flatMap((path) => {
      const now = text(after, path);
      return old.has(path) && text(before, path) === now ? [] : [[path, now] as const];
    }),
  );
}

/**
 * The key of a row's package. All packages are in the data of each sandbox, and a later version is an earlier one's answer, so each is
 * sealed: a policy is given the key of its own row.
 */
export const sealOf = (id: string): string => createHash('sha256').update(`ship-code ${id}`).digest('hex');

/** No key is used twice, so the nonce may be the same. `toolbox/unpack.ts` opens it. */
export function sealed(id: string, content: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(sealOf(id), 'hex'), Buffer.alloc(12));
  const text = Buffer.concat([cipher.update(content), cipher.final()]);
  return Buffer.concat([cipher.getAuthTag(), text]);
}
