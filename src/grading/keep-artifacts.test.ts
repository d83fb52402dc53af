import { expect, test } from 'vitest';
import type { Artifact } from './artifacts.ts';
import { mostKeptCharacters } from '../ports/kept-rollouts.ts';
import { artifactsToKeep } from './keep-artifacts.ts';

const file = (path: string, bytes: Buffer): Artifact => ({ path, executable: true, mtimeS: 7, bytes });
const kept = (...files: readonly Artifact[]) => artifactsToKeep(['src/'], { kind: 'taken', files });

test('artifacts are kept with the names that were asked for, bytes as they were', () => {
  expect(JSON.parse(kept(file('src/a', Buffer.from([0, 255]))))).toEqual({
    kind: 'taken',
    names: ['src/'],
    files: [{ path: 'src/a', executable: true, mtime_s: 7, base64: 'AP8=' }],
  });
});

test.each([
  ['a byte too many', [file('src/a', Buffer.alloc(8 * 1024 * 1024 + 1))]],
  ['paths of megabytes', Array.from({ length: 4096 }, () => file('\u0001'.repeat(600), Buffer.alloc(0)))],
])('%s: none of them are kept, and the line is short', (_what, files) => {
  const text = kept(...files);
  expect(JSON.parse(text)).toMatchObject({ kind: 'none' });
  expect(text.length).toBeLessThan(1000);
});

test('as many bytes as may be find room', () => {
  const text = kept(file('src/a', Buffer.alloc(8 * 1024 * 1024)));
  expect(JSON.parse(text)).toMatchObject({ kind: 'taken' });
  expect(text.length).toBeLessThanOrEqual(mostKeptCharacters);
});

test('what the policy broke is kept as its reason, however long', () => {
  const broken = { kind: 'bad', how: 'artifacts', reason: 'src is a link '.repeat(1000) } as const;
  expect(artifactsToKeep(['src/'], broken).length).toBeLessThan(1000);
});
