import { type AsWhom, MachineFault, runProgram } from './run-program.ts';

/* Runs a program on inputs: natively for what it computes, under callgrind for what that costs. */

export type Inputs = {
  readonly rows: number;
  readonly cols: number;
  readonly x: Float32Array;
  readonly w: Float32Array;
};

/** A first-level miss costs 10 instructions, a miss of the last level 100; the same caches on every machine. */
const missCost = { first: 10, last: 100 };
const caches = ['--I1=32768,8,64', '--D1=32768,8,64', '--LL=8388608,16,64'];
const valgrind = [
  'valgrind',
  '-q',
  '--tool=callgrind',
  '--cache-sim=yes',
  ...caches,
  '--toggle-collect=kernel',
];

const unpack = 'd=$(mktemp -d) && cd "$d" && head -c "$1" > program && chmod 700 program && cat > input';

/** What the kernel wrote; null if it failed, or changed its inputs. */
export function runKernel(program: Uint8Array, inputs: Inputs, as: AsWhom): Float32Array | null {
  const script = `${unpack} && exec env -i timeout 10 ./program < input`;
  const { exitCode, stdout } = runProgram(shell(as, script, program), { input: streamOf(program, inputs) });
  return exitCode === 0 ? floatsIn(stdout, inputs) : null;
}

/** Instructions and misses of the kernel alone, the same number on each run; null if it failed. */
export function costOf(
  program: Uint8Array,
  inputs: Inputs,
  as: AsWhom,
): { readonly cost: number; readonly out: Float32Array | null } | null {
  const command = [...valgrind, '--callgrind-out-file=counts', './program'].join(' ');
  const script = `${unpack}; env -i timeout 50 /usr/bin/${command} < input > out; code=$?
grep -E '^(events|totals):' counts; cat out; exit $code`;
  const { exitCode, stdout, stderr } = runProgram(shell(as, script, program), {
    input: streamOf(program, inputs),
  });
  if (exitCode === 132 || stderr.includes('SIGILL') || stderr.includes('unhandled instruction'))
    throw new MachineFault('valgrind cannot run an instruction that ran natively');
  if (stderr.includes('not found')) throw new MachineFault('this machine lacks valgrind');
  if (exitCode !== 0) return null;
  const second = stdout.indexOf(10, stdout.indexOf(10) + 1);
  const cost = costIn(stdout.subarray(0, second).toString());
  return cost === null ? null : { cost, out: floatsIn(stdout.subarray(second + 1), inputs) };
}

const shell = (as: AsWhom, script: string, program: Uint8Array): readonly string[] => [
  ...as,
  '/bin/sh',
  '-c',
  script,
  'sh',
  String(program.length),
];

function costIn(text: string): number | null {
  const [names = [], counts = []] = text.split('\n').map((line) => line.split(' ').slice(1));
  const count = (name: string) => Number(counts[names.indexOf(name)] ?? '0');
  const first = count('I1mr') + count('D1mr') + count('D1mw');
  const last = count('ILmr') + count('DLmr') + count('DLmw');
  const cost = count('Ir') + missCost.first * first + missCost.last * last;
  return cost > 0 ? cost : null;
}

const bytes = (values: Float32Array | Int32Array) =>
  Buffer.from(values.buffer, values.byteOffset, values.byteLength);

function streamOf(program: Uint8Array, { rows, cols, x, w }: Inputs): Uint8Array {
  return Buffer.concat([program, bytes(Int32Array.of(rows, cols)), bytes(x), bytes(w)]);
}

function floatsIn(bytes: Buffer, { rows, cols }: Inputs): Float32Array | null {
  if (bytes.length !== rows * cols * 4) return null;
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}
