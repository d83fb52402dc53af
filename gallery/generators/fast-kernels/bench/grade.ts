import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { naiveSource, type Operation, operationNamed } from '../operations.ts';
import { compileKernel } from './compile.ts';
import { inputsOf, type Shape } from './inputs.ts';
import { isRight, speedScore } from './judge.ts';
import { costOf, type Inputs, runKernel } from './measure.ts';
import { asItself, asPolicy, MachineFault, runProgram } from './run-program.ts';

/*
 * Grades kernel.c of the workspace. Whatever a kernel can cause is a score; only a machine that measures wrongly ends the grader badly,
 * which discards the rollout.
 */

type Task = Shape & { readonly id: string; readonly operation: Operation };

try {
  const { score, reason } = graded(taskFrom(readFileSync(0, 'utf8')));
  process.stderr.write(`${reason}\n`);
  writeFileSync(process.env['CORRAL_SCORE_FILE'] ?? '', `${score}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  if (error instanceof MachineFault) process.exit(1);
  writeFileSync(process.env['CORRAL_SCORE_FILE'] ?? '', '0\n');
}

type Graded = { readonly score: number; readonly reason: string };

function graded(task: Task): Graded {
  const { operation } = task;
  const source = runProgram(['as-policy', 'head', '-c', '70000', 'kernel.c']).stdout.toString();
  const folder = mkdtempSync(join(process.env['TMPDIR'] ?? '/tmp', 'kernel-'));
  const compiled = compileKernel(source, naiveSource(operation), folder, asPolicy);
  if ('refused' in compiled) return { score: 0, reason: `refused: ${compiled.refused.join(', ')}` };
  const seed = seedOf(task);
  const referenceCost = costOfReference(task, inputsOf(`${seed}-0`, task));
  // Another shape, too: a kernel for one shape alone is wrong.
  const shapes = [task, { rows: 3, cols: 33 + (Number.parseInt(seed.slice(0, 4), 16) % 64) }];
  for (const inputs of shapes.map((shape, index) => inputsOf(`${seed}-${index}`, shape))) {
    const out = runKernel(compiled.program, inputs, asPolicy);
    if (out === null) return { score: 0, reason: 'the kernel failed, or changed its inputs' };
    if (!isRight(operation, inputs, out))
      return { score: 0, reason: `wrong for ${inputs.rows} × ${inputs.cols}` };
  }
  return measured(task, compiled.program, seed, referenceCost);
}

/** As the grader's own user, whose disk no policy fills: if the reference fails here, the machine is at fault. */
function costOfReference({ operation }: Task, inputs: Inputs): number {
  const reference = readFileSync(join(import.meta.dirname, '../references', operation.name));
  const out = runKernel(reference, inputs, asItself);
  if (out === null || !isRight(operation, inputs, out)) throw new MachineFault('the reference runs wrongly');
  const measured = costOf(reference, inputs, asItself);
  if (measured === null) throw new MachineFault('the reference could not be measured');
  return measured.cost;
}

function measured(
  { operation, ...shape }: Task,
  program: Uint8Array,
  seed: string,
  referenceCost: number,
): Graded {
  const inputs = inputsOf(`${seed}-0`, shape);
  const own = costOf(program, inputs, asPolicy);
  if (own?.out == null || !isRight(operation, inputs, own.out)) {
    return { score: 0, reason: 'the kernel failed, or was wrong, while it was measured' };
  }
  const times = (referenceCost / own.cost).toFixed(2);
  return {
    score: speedScore(operation, referenceCost, own.cost),
    reason: `cost ${own.cost}, of the reference ${referenceCost}: ${times} times as fast`,
  };
}

function taskFrom(text: string): Task {
  const row: unknown = JSON.parse(text);
  if (
    typeof row === 'object' &&
    row !== null &&
    'id' in row &&
    'operation' in row &&
    'rows' in row &&
    'cols' in row
  ) {
    const operation = operationNamed(String(row.operation));
    if (operation !== undefined)
      return { id: String(row.id), operation, rows: Number(row.rows), cols: Number(row.cols) };
  }
  throw new MachineFault('the row names no operation');
}

/** The same in each grading, and unknown to the policy: of the row, of the grader's own version, and of a secret. */
function seedOf({ id }: Task): string {
  const folder = process.env['CORRAL_GRADER_DIR'] ?? '';
  const own = readdirSync(import.meta.dirname)
    .toSorted()
    .map((name) => readFileSync(join(import.meta.dirname, name)));
  const hash = createHash('sha256');
  for (const part of [readFileSync(join(folder, 'secret')), ...own, id]) hash.update(part);
  return hash.digest('hex');
}
