import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A file of a package, as it was published. */
export type SourceFile = { readonly path: string; readonly lines: readonly string[] };

export type Repository = { readonly name: string; readonly files: readonly SourceFile[] };

/** What is read of each package: its source, types and documents once, without tests and without a second build of the same. */
const parts: Readonly<Record<string, readonly string[]>> = {
  ajv: ['lib', 'README.md'],
  bullmq: ['dist/esm', 'README.md'],
  fastify: ['lib', 'types', 'docs', 'fastify.js', 'fastify.d.ts', 'README.md'],
  ioredis: ['built', 'README.md'],
  pino: ['lib', 'docs', 'pino.js', 'pino.d.ts', 'file.js', 'README.md'],
  undici: ['lib', 'types', 'docs', 'index.js', 'index.d.ts', 'README.md'],
  vitest: ['dist', 'README.md'],
  yaml: ['dist', 'README.md'],
};

export const repositoryNames = Object.keys(parts);

/** Held back to evaluate with: all of their questions, and nothing of theirs is learnt from. */
export const evalRepositories: readonly string[] = ['fastify', 'ioredis'];

const readable = /\.(?:js|mjs|cjs|ts|mts|cts|md)$/;
/** Bundles and tables are no reading. */
const largestBytes = 400_000;

/** `folder` holds the packages, each in a folder of its name. */
export const readRepositories = (folder: string): readonly Repository[] =>
  repositoryNames.map((name) => ({
    name,
    files: (parts[name] ?? []).flatMap((part) => filesBelow(join(folder, name), part)),
  }));

function filesBelow(root: string, path: string): readonly SourceFile[] {
  const whole = join(root, path);
  const about = statSync(whole);
  if (about.isDirectory()) {
    const names = readdirSync(whole)
      .filter((name) => name !== 'node_modules')
      .sort();
    return names.flatMap((name) => filesBelow(root, `${path}/${name}`));
  }
  if (!readable.test(path) || about.size > largestBytes) return [];
  return [{ path, lines: readFileSync(whole, 'utf8').split('\n') }];
}
