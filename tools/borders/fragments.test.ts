import { expect, test } from 'vitest';
import { fragmentsOf } from './fragments.ts';

const lines = (count: number, first = '') => `${first}\n${'// a line\n'.repeat(count - 1)}`;
const reads = (path: string) => `import { x } from '${path}';`;

function fragments(files: Readonly<Record<string, string>>): readonly string[] {
  return fragmentsOf(new Map(Object.entries(files)));
}

test('a short file that one file reads is told, with where it belongs', () => {
  const files = { 'src/pool/a.ts': lines(19), 'src/pool/b.ts': lines(60, reads('./a.ts')) };
  expect(fragments(files)).toEqual([
    'src/pool/a.ts has 19 lines, and only src/pool/b.ts reads it: let it stand there',
  ]);
});

test('one that is longer, or has two readers, is not; tests are no readers', () => {
  expect(fragments({ 'src/a.ts': lines(20), 'src/b.ts': lines(60, reads('./a.ts')) })).toEqual([]);
  const two = { 'src/a.ts': lines(5), 'src/b.ts': reads('./a.ts'), 'cli/c.ts': reads('#src/a.ts') };
  expect(fragments(two)).toEqual([]);
  const tested = { 'src/a.ts': lines(5), 'src/b.ts': reads('./a.ts'), 'src/a.test.ts': reads('./a.ts') };
  expect(fragments(tested)).toHaveLength(1);
});
