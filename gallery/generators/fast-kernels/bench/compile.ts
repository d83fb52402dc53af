import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { allowedFunctions, refusalsIn } from './check-syntax.ts';
import { type AsWhom, type Ended, MachineFault, runProgram } from './run-program.ts';

/* From a kernel's text to a program that runs it once, or the names of what is refused. */

/** Wide enough for AVX2 and FMA, and not wider: valgrind knows no AVX-512, so a wider kernel would run and could not be measured. */
const target = '-march=x86-64-v3';

const options = [
  '-O3',
  target,
  '-fno-math-errno',
  '-fno-trapping-math',
  '-ffp-contract=fast',
  '-fopenmp-simd',
];

export type Compiled = { readonly program: Uint8Array } | { readonly refused: readonly string[] };

const mostBytes = 64 * 1024;
const mostObjectBytes = 1024 * 1024;

/** `as`: who preprocesses, because an include reads files. */
export function compileKernel(source: string, reference: string, folder: string, as: AsWhom): Compiled {
  if (source.trim() === '') return { refused: ['no kernel'] };
  if (Buffer.byteLength(source) > mostBytes) return { refused: ['more than 64 KiB'] };
  const unit = preprocess(source, as);
  if (unit === null) return { refused: ['not C, or includes a header'] };
  const refused = refusalsIn(unit, preprocess(reference, as) ?? '');
  if (refused.length > 0) return { refused };
  const object = join(folder, 'kernel.o');
  const flags = [...options, '-w', '-std=gnu11', '-xcpp-output', '-c', '-', '-o', object];
  const compiled = runProgram(['gcc', ...flags], { input: unit });
  if (compiled.exitCode !== 0) {
    if (runProgram(['gcc', ...flags], { input: reference }).exitCode !== 0)
      throw new MachineFault('the compiler fails on the reference');
    return { refused: [`not compiled: ${firstLine(compiled)}`] };
  }
  if (statSync(object).size > mostObjectBytes) return { refused: ['an object of more than 1 MiB'] };
  const inObject = [...symbolRefusals(object), ...sectionRefusals(object)];
  return inObject.length > 0 ? { refused: inObject } : { program: link(object, folder) };
}

/** Without any header, and without line markers: all that is left is the policy's own. */
function preprocess(source: string, as: AsWhom): string | null {
  const flags = ['-E', '-P', '-nostdinc', '-std=gnu11', '-xc', '-'];
  const { exitCode, stdout } = runProgram([...as, '/usr/bin/gcc', ...flags], { input: source });
  return exitCode === 0 ? stdout.toString() : null;
}

const firstLine = ({ stderr }: Ended): string =>
  stderr.split('\n').find((line) => line.includes('error')) ?? 'gcc failed';

/** What a kernel calls is on a list, and it offers nothing but itself. */
function symbolRefusals(object: string): readonly string[] {
  const lines = runProgram(['nm', '-P', object]).stdout.toString().split('\n');
  return lines.flatMap((line) => {
    const [name = '', kind = ''] = line.split(' ');
    if (kind === 'U')
      return allowedFunctions.includes(name) || name === '_GLOBAL_OFFSET_TABLE_' ? [] : [`call of ${name}`];
    if (kind === 'i' || kind === 'I') return ['ifunc'];
    return 'TWVBDGS'.includes(kind) && kind !== '' && name !== 'kernel' ? [`symbol ${name}`] : [];
  });
}

const harmlessSections =
  /^(?:\.rela?)?\.(?:text(?:\.\w+)?|rodata[\w.]*|eh_frame|comment|note[\w.-]*|symtab|strtab|shstrtab)$/;

/** No memory that outlives a call, and no code that runs when a program is loaded. */
function sectionRefusals(object: string): readonly string[] {
  const lines = runProgram(['readelf', '-SW', object]).stdout.toString().split('\n');
  return lines.flatMap((line) => {
    const [, name, size] = /^ *\[ *\d+\] (\.\S+) +\w+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)/.exec(line) ?? [];
    if (name === undefined || Number.parseInt(size ?? '0', 16) === 0 || harmlessSections.test(name))
      return [];
    return [/^(?:\.rela)?\.(?:data|bss|tbss|tdata)/.test(name) ? 'state' : `section ${name}`];
  });
}

const harness = join(import.meta.dirname, '../harness.o');

function link(object: string, folder: string): Uint8Array {
  const program = join(folder, 'program');
  const { exitCode } = runProgram(['gcc', object, harness, '-lm', '-o', program]);
  if (exitCode !== 0) throw new MachineFault('the kernel could not be linked');
  return readFileSync(program);
}
