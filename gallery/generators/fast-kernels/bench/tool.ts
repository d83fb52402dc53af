import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { naiveSource, type Operation, operationNamed } from '../operations.ts';
import { compileKernel } from './compile.ts';
import { inputsOf } from './inputs.ts';
import { isRight, speedScore } from './judge.ts';
import { costOf, runKernel } from './measure.ts';
import { asItself } from './run-program.ts';

/* The policy's own look at its kernel: refusals by name, correctness and speed, on inputs that are not those of the grader. */

const item = (field: string) => process.env[`CORRAL_ITEM_${field}`] ?? '';
const operation = operationNamed(item('OPERATION'));
if (operation === undefined) throw new Error('the row names no operation');
process.stdout.write(`${report(operation)}\n`);

function report(operation: Operation): string {
  const folder = mkdtempSync('/tmp/kernel-');
  try {
    return reportIn(operation, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function reportIn(operation: Operation, folder: string): string {
  const compiled = compileKernel(readFileSync('kernel.c', 'utf8'), naiveSource(operation), folder, asItself);
  if ('refused' in compiled) return `refused: ${compiled.refused.join(', ')}`;
  const inputs = inputsOf('public', { rows: Number(item('ROWS')), cols: Number(item('COLS')) });
  const out = runKernel(compiled.program, inputs, asItself);
  if (out === null) return 'the kernel failed, or changed its inputs';
  if (!isRight(operation, inputs, out)) return 'wrong';
  const reference = readFileSync(join(import.meta.dirname, '../references', operation.name));
  const [own, naive] = [costOf(compiled.program, inputs, asItself), costOf(reference, inputs, asItself)];
  if (own === null || naive === null) return 'right, but it could not be measured';
  const times = (naive.cost / own.cost).toFixed(2);
  return `right; cost ${own.cost}, of the reference ${naive.cost}: ${times} times as fast, score ${speedScore(operation, naive.cost, own.cost)}`;
}
