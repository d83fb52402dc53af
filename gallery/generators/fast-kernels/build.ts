import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { naiveSource, operations } from './operations.ts';

/* Builds what tools and graders run in the folder that CORRAL_DATA names: the checker, the references, and this Node. */

const data = process.env['CORRAL_DATA'] ?? '';
const own = join(data, 'fast-kernels');
cpSync(join(import.meta.dirname, 'bench'), join(own, 'bench'), { recursive: true });
cpSync(join(import.meta.dirname, 'parser'), join(own, 'parser'), { recursive: true });
copyFileSync(join(import.meta.dirname, 'operations.ts'), join(own, 'operations.ts'));
copyFileSync('chance.ts', join(data, 'chance.ts'));
copyFileSync(process.execPath, join(data, 'node'));
mkdirSync(join(own, 'references'));

const compile = (...args: readonly string[]) => {
  const { status, stderr, error } = spawnSync('gcc', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`gcc failed: ${error?.message ?? stderr}`);
};
const harness = join(own, 'harness.o');
compile('-O2', '-c', join(own, 'bench/harness.c'), '-o', harness);

/** As kernels are compiled, so that a kernel's speed is its own doing. */
const options = [
  '-O3',
  '-march=x86-64-v3',
  '-fno-math-errno',
  '-fno-trapping-math',
  '-ffp-contract=fast',
  '-w',
];
for (const operation of operations) {
  const source = join(own, 'references', `${operation.name}.c`);
  writeFileSync(source, naiveSource(operation));
  compile(...options, source, harness, '-lm', '-o', join(own, 'references', operation.name));
}
process.stdout.write(`${operations.length} references\n`);
