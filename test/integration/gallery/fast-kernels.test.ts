import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { galleryFolder } from '#gallery/roster.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cheats } from '#gallery/fast-kernels/cheats.ts';
import { makeKernelFiles } from '#gallery/fast-kernels/fetch-parser.ts';
import { kernels } from '#gallery/fast-kernels/kernels.ts';
import { costOf } from '#gallery/generators/fast-kernels/bench/measure.ts';
import { asItself, MachineFault } from '#gallery/generators/fast-kernels/bench/run-program.ts';
import { naiveSource, operationNamed } from '#gallery/generators/fast-kernels/operations.ts';

/* The grader's own parts, without a fleet: what is refused and by which name, and that a kernel's cost is one number. */

let data = '';
beforeAll(() => {
  makeKernelFiles();
  data = mkdtempSync(join(tmpdir(), 'corral-kernels-'));
  const inputs = join(data, 'inputs');
  mkdirSync(inputs);
  mkdirSync(join(data, 'built'));
  for (const input of ['generators/chance.ts', 'generators/fast-kernels'])
    spawnSync('cp', ['-r', join(galleryFolder, input), inputs]);
  const built = spawnSync(process.execPath, ['fast-kernels/build.ts'], {
    cwd: inputs,
    encoding: 'utf8',
    env: { ...process.env, CORRAL_DATA: join(data, 'built') },
  });
  expect(built.stderr).toBe('');
});
afterAll(() => rmSync(data, { recursive: true, force: true }));

const operation = 'silu_gate';
const fast = kernels[operation]?.expert ?? '';

/** What `check_kernel` says of a kernel. */
function said(source: string, env: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(data, 'workspace-'));
  spawnSync('tee', [join(folder, 'kernel.c')], { input: source });
  const item = { CORRAL_ITEM_OPERATION: operation, CORRAL_ITEM_ROWS: '16', CORRAL_ITEM_COLS: '256' };
  const tool = join(data, 'built/fast-kernels/bench/tool.ts');
  const { stdout, stderr } = spawnSync(process.execPath, [tool], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...item, ...env },
  });
  return `${stdout}${stderr}`.trim();
}

const refusals: Readonly<Record<string, string>> = {
  'no-kernel': 'refused: no kernel',
  'returns-the-reference': 'refused: reference returned',
  'remembers-inputs': 'refused: state',
  'detects-the-harness': 'refused: call of getenv',
  'inline-assembly': 'refused: inline assembly',
  'load-time-constructor': 'refused: constructor',
  section: 'refused: section',
  ifunc: 'refused: ifunc',
  'wide-target': 'refused: wide target',
  'function-pointer': 'refused: function pointer, call of other',
  'header-of-the-grader': 'refused: not C, or includes a header',
  'not-called': 'wrong',
  identity: 'wrong',
  'no-op': 'wrong',
  'a-quarter-of-the-rows': 'wrong',
};

test('each cheat is refused by its name, or wrong', () => {
  const known = operationNamed(operation);
  const reference = known === undefined ? '' : naiveSource(known);
  const answers = Object.entries(cheats).map(([name, sourceOf]) => [name, said(sourceOf(reference, fast))]);
  expect(Object.fromEntries(answers)).toEqual(refusals);
}, 180_000);

test.each<[string, string, string]>([
  [
    'assembly behind a macro',
    '#define a(x) __as##m__(x)\nstatic void f(void) { a("nop"); }',
    'inline assembly',
  ],
  ['assembly outside of a function', '__asm__(".globl x");', 'inline assembly'],
  ['a target in an attribute', '__attribute__((target("avx512f"))) static void f(void) {}', 'wide target'],
  ['a target in a pragma operator', '_Pragma("GCC target(\\"avx512f\\")")', 'wide target'],
  ['an attribute in brackets', '[[gnu::constructor]] static void f(void) {}', 'constructor'],
  ['another name for a symbol', 'void f(void) __asm__("other");', 'inline assembly'],
  ['a trap', 'static void f(int a) { if (a) __builtin_trap(); }', 'call of __builtin_trap'],
  ['a second entry', 'void f(void) {}', 'symbol f'],
])('%s is refused', (_what, before, name) => {
  expect(said(`${before}\n${fast}`)).toContain(name);
});

test('what runs natively and not under valgrind is a fault of the machine, and never a score', () => {
  const program = join(data, 'traps');
  spawnSync('gcc', ['-xc', '-', '-o', program], { input: 'int main(void) { __builtin_trap(); }' });
  const inputs = { rows: 1, cols: 1, x: Float32Array.of(0), w: Float32Array.of(0) };
  expect(() => costOf(readFileSync(program), inputs, asItself)).toThrow(MachineFault);
});

test('a right kernel costs the same number each time, whatever the environment', () => {
  const first = said(fast);
  expect(first).toMatch(/^right; cost \d+, .* score 1$/);
  expect(said(fast, { SOME: 'x'.repeat(5_000) })).toBe(first);
  expect(said(fast)).toBe(first);
});
