import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CommandError } from '#cli/command-error.ts';
import { cacheFolder, cacheLocked } from '../locked-packages.ts';

const files = [
  'web-tree-sitter/web-tree-sitter.js',
  'web-tree-sitter/web-tree-sitter.wasm',
  'tree-sitter-c/tree-sitter-c.wasm',
];

/** What the build of data reads, git-ignored. */
const parserFolder = join(import.meta.dirname, '../generators/fast-kernels/parser');

/** What hidden inputs are made from; it is part of the environment's version, and differs between checkouts. */
const secretFile = join(import.meta.dirname, 'secret');

/** Makes what the environment's file names and the repository does not have. */
export function makeKernelFiles(): void {
  if (process.arch !== 'x64') {
    throw new CommandError('fast-kernels needs an x64 machine', 'this machine', 'play the others by name');
  }
  if (!existsSync(secretFile)) writeFileSync(secretFile, randomBytes(32).toString('hex'));
  fetchParser();
}

/** npm fetches the parser once on a machine, by version and hash; the user's cache keeps it. */
function fetchParser(): void {
  const cache = cacheFolder('c-parser-0.24.1-0.27.2-files');
  if (files.every((file) => existsSync(join(parserFolder, basename(file))))) return;
  if (!existsSync(cache)) cacheLocked(join(import.meta.dirname, 'parser'), cache, files);
  for (const file of files) copyFileSync(join(cache, file), join(parserFolder, basename(file)));
}
