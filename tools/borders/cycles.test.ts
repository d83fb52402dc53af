import { expect, test } from 'vitest';
import { cycleIn } from './cycles.ts';

const reads = (...paths: readonly string[]) =>
  paths.map((path) => `import type { X } from '${path}';`).join('\n');
const cycle = (files: Readonly<Record<string, string>>) => cycleIn(new Map(Object.entries(files)));

test('files that import each other are named in order, types and longer ways included', () => {
  const files = { 'src/a.ts': reads('./b.ts'), 'src/b.ts': reads('#src/c.ts'), 'src/c.ts': reads('./a.ts') };
  expect(cycle(files)).toBe('a cycle of imports: src/a.ts → src/b.ts → src/c.ts → src/a.ts');
});

test('a file above a cycle is no part of it', () => {
  const files = { 'src/top.ts': reads('./a.ts'), 'src/a.ts': reads('./b.ts'), 'src/b.ts': reads('./a.ts') };
  expect(cycle(files)).toBe('a cycle of imports: src/a.ts → src/b.ts → src/a.ts');
});

test('two ways to one file are no cycle, nor is what only a test closes', () => {
  const files = { 'src/a.ts': reads('./b.ts', './c.ts'), 'src/b.ts': reads('./c.ts'), 'src/c.ts': '' };
  expect(cycle(files)).toBeNull();
  expect(cycle({ 'src/a.ts': reads('./a.test.ts'), 'src/a.test.ts': reads('./a.ts') })).toBeNull();
});
