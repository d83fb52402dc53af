import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '');

// The letters in brackets keep this file from naming what it forbids.
const forbidden = [
  { what: 'a path of somebody’s own machine', pattern: /\/(?:[w]ork|[h]ome\/[a-z]+|[U]sers)\/[a-z]/ },
  { what: 'a folder of a build machine', pattern: /\/tmp\/[b]rief/ },
  {
    what: 'a private package host',
    pattern: /https?:\/\/[^\s'"/]*(?:[a]rtifactory|[n]exus|[v]erdaccio|\.[i]nternal\b)/,
  },
  { what: 'a registry address in a lock file', pattern: /"[r]esolved": "https?:/ },
] as const;

function textOf(file: string): string {
  try {
    const bytes = readFileSync(join(root, file));
    return bytes.includes(0) ? '' : bytes.toString('utf8');
  } catch (error) {
    // Deleted in the work tree and not yet committed.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

test.each(forbidden)('no tracked file holds $what', ({ pattern }) => {
  expect(tracked.filter((file) => pattern.test(textOf(file)))).toEqual([]);
});

test('the list of tracked files is not empty', () => {
  expect(tracked).toContain('package.json');
});
