import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkOut } from './previous.ts';

const run = promisify(execFile);

let root = '';
let repository = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'corral-previous-'));
  repository = join(root, 'repository');
  await run('git', ['init', '-q', repository]);
});
afterAll(() => rm(root, { recursive: true, force: true }));

const git = (...args: readonly string[]) => run('git', ['-C', repository, ...args]);

async function commitWith(text: string): Promise<string> {
  await writeFile(join(repository, 'version'), text);
  await git('add', '.');
  await git('-c', 'user.name=nobody', '-c', 'user.email=nobody@example.org', 'commit', '-qm', text);
  return (await git('rev-parse', 'HEAD')).stdout.trim();
}

test('a commit is checked out as it was, whatever has come since, and the repository knows nothing of it', async () => {
  const old = await commitWith('old');
  await commitWith('new');
  const folder = join(root, 'old');
  await mkdir(folder);
  await checkOut(repository, old, folder);
  expect(await readdir(folder)).toEqual(['version']);
  expect(await readFile(join(folder, 'version'), 'utf8')).toBe('old');
  expect((await git('worktree', 'list')).stdout.trim().split('\n')).toHaveLength(1);
});

test('a clone that does not reach back to the commit is told so, and how to get it', async () => {
  const old = await commitWith('before');
  await commitWith('after');
  const shallow = join(root, 'shallow');
  await run('git', ['clone', '-q', '--depth=1', `file://${repository}`, shallow]);
  await expect(checkOut(shallow, old, root)).rejects.toThrow(
    /git finds no commit .* `git fetch --unshallow` brings it/,
  );
});

test('the file names a whole commit id, since a short one may become ambiguous', async () => {
  expect(await readFile(join(import.meta.dirname, 'previous'), 'utf8')).toMatch(/^[0-9a-f]{40}\n$/);
});
