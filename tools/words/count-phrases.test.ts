import { expect, test } from 'vitest';
import { countPhrases, excesses, lowered, scopeOf } from './count-phrases.ts';

const phrases = ['nobody', 'is told'];
const count = (path: string, text: string) => countPhrases(phrases, [{ path, text }]);

test('phrases are counted as whole words, in any case, and across the lines of a comment', () => {
  const text = '/* Nobody waits. nobody’s, nobodys, nobodyWaits; the caller is\n * told, is told */';
  expect(count('src/a.ts', text)).toEqual({ read: {}, code: { nobody: 2, 'is told': 2 } });
});

test('what users read is counted apart from code', () => {
  const read = [
    'README.md',
    'docs/api.md',
    'cli/top.ts',
    'src/failure/meanings/ours.ts',
    'charts/corral/values.yaml',
  ];
  const code = ['src/a.ts', 'cli/top.test.ts', 'services/sandboxd/README.md', 'infra/payload/runtime.ts'];
  expect(read.map(scopeOf)).toEqual(read.map(() => 'read'));
  expect(code.map(scopeOf)).toEqual(code.map(() => 'code'));
});

test('a phrase may not occur more often than recorded, and records only fall', () => {
  const recorded = { read: {}, code: { nobody: 2, 'is told': 1 } };
  const now = count('src/a.ts', 'nobody is told, is told');
  expect(excesses(now, recorded)).toEqual([{ scope: 'code', phrase: 'is told', now: 2, most: 1 }]);
  expect(lowered(now, recorded)).toEqual({ read: {}, code: { nobody: 1, 'is told': 1 } });
  expect(excesses(count('docs/a.md', 'nobody'), recorded)).toHaveLength(1);
});
