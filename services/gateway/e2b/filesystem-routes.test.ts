import { expect, test } from 'vitest';
import { absolute, entriesIn } from './filesystem-routes.ts';

const told = (...entries: readonly (readonly [string, string, string])[]) =>
  entries
    .flat()
    .map((part) => `${part}\0`)
    .join('');

test('a name with line ends, spaces and what looks like another entry is one name', () => {
  const odd = './x\n81ff 1 1 root root\n/etc/shadow';
  const entries = entriesIn(told([odd, '81a4 5 1700000000 policy policy', '']), '/logs/');
  expect(entries).toHaveLength(1);
  expect(entries[0]).toMatchObject({ type: 'FILE_TYPE_FILE', size: '5', permissions: 'rw-r--r--' });
  expect(entries[0]?.path.startsWith('/logs/')).toBe(true);
});

const meta = (mode: string) => `${mode} 0 0 policy policy`;

test('types, modes and links are read from what stat says', () => {
  const entries = entriesIn(
    told(['./d', meta('41fd'), ''], ['./l', meta('a1ff'), '/etc'], ['./p', meta('11b6'), '']),
    '/w',
  );
  expect(entries.map(({ name, type, symlinkTarget }) => [name, type, symlinkTarget])).toEqual([
    ['d', 'FILE_TYPE_DIRECTORY', undefined],
    ['l', 'FILE_TYPE_SYMLINK', '/etc'],
    ['p', 'FILE_TYPE_UNSPECIFIED', undefined],
  ]);
});

test('entries come in the order of their paths', () => {
  const entries = entriesIn(
    told(['./b', meta('81a4'), ''], ['./a/c', meta('81a4'), ''], ['./a', meta('41ed'), '']),
    '/w',
  );
  expect(entries.map(({ path }) => path)).toEqual(['/w/a', '/w/a/c', '/w/b']);
});

test.each([
  ['/logs/', '/workspace', '/logs'],
  ['/logs/../tests', '/workspace', '/tests'],
  ['notes', '/workspace', '/workspace/notes'],
  ['~/notes', '/workspace', '/workspace/notes'],
  ['.', '/workspace', '/workspace'],
  ['/', '/workspace', '/'],
  // What the sandbox says of its folder is the policy's word: it is no way elsewhere for an absolute path.
  ['/logs/a', '/etc', '/logs/a'],
  ['notes', '../../etc', '/notes'],
  ['notes', '/workspace/../etc', '/notes'],
])('%s, where commands start in %s, is %s', (path, folder, expected) => {
  expect(absolute(path, folder)).toBe(expected);
});

test('what is no entry is none', () => {
  expect(entriesIn('', '/w')).toEqual([]);
  expect(entriesIn('half\0', '/w')).toEqual([]);
  expect(entriesIn(told(['./x', 'stat said something else', '']), '/w')).toEqual([]);
});
