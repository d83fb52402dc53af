import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { CommandError } from '#cli/command-error.ts';

const files = [
  'node_modules/web-tree-sitter/web-tree-sitter.js',
  'node_modules/web-tree-sitter/web-tree-sitter.wasm',
  'node_modules/tree-sitter-c/tree-sitter-c.wasm',
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
  makeSecret();
  fetchParser();
}

/** Without it no environment of this folder loads, whichever is played. */
export function makeSecret(): void {
  if (!existsSync(secretFile)) writeFileSync(secretFile, randomBytes(32).toString('hex'));
}

/** npm fetches the parser once on a machine, by version and hash; the user's cache keeps it. */
function fetchParser(): void {
  const cache = join(
    process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    'corral/gallery/c-parser-0.24.1-0.27.2',
  );
  if (has(parserFolder)) return;
  if (!has(cache)) download(cache);
  for (const file of files) copyFileSync(join(cache, basename(file)), join(parserFolder, basename(file)));
}

const has = (folder: string): boolean => files.every((file) => existsSync(join(folder, basename(file))));

function download(cache: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'corral-gallery-'));
  try {
    for (const file of ['package.json', 'package-lock.json'])
      copyFileSync(join(import.meta.dirname, 'parser', file), join(folder, file));
    install(folder);
    mkdirSync(cache, { recursive: true });
    for (const file of files) {
      const place = join(cache, basename(file));
      copyFileSync(join(folder, file), `${place}.new`);
      renameSync(`${place}.new`, place);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function install(folder: string): void {
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stderr, error } = spawnSync('npm', args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 300_000,
  });
  if (status === 0) return;
  throw new CommandError(
    `npm could not fetch the parser of fast-kernels: ${error?.message ?? stderr.trim().split('\n').at(-1)}`,
    'this machine',
    'give it npm with a reachable registry',
  );
}
