import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Python } from './find-python.ts';

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'corral/clients');

/**
 * A virtual environment with exactly what a lock names; its Python. Kept by what goes in, so a lock that changes makes
 * another, and several checkouts share one: the client itself is never installed into it.
 */
export function virtualEnvironment(python: Python, lock: string): string {
  const folder = join(cache, keyOf(python, lock));
  const program = join(folder, 'bin/python');
  if (!existsSync(program)) make(python, lock, folder);
  return program;
}

function keyOf(python: Python, lock: string): string {
  const digest = createHash('sha256').update(readFileSync(lock)).digest('hex').slice(0, 16);
  return `python-${python.version}-${process.arch}-${digest}`;
}

/** Beside its place first, so that nobody ever finds half of one. Programs are run as modules: their scripts name the old place. */
function make(python: Python, lock: string, folder: string): void {
  mkdirSync(cache, { recursive: true });
  const made = mkdtempSync(join(cache, 'making-'));
  try {
    process.stderr.write(`installing ${lock} for Python ${python.version}\n`);
    run(python.program, '-m', 'venv', made);
    const pip = ['-m', 'pip', '--disable-pip-version-check', 'install', '--quiet'];
    run(join(made, 'bin/python'), ...pip, '--require-hashes', '--no-deps', '-r', lock);
    renameSync(made, folder);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    // Another checkout was quicker.
    if (!existsSync(join(folder, 'bin/python'))) throw error;
  }
}

const run = (program: string, ...args: string[]) =>
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
