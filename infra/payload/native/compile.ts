import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { NativeProgram } from '#src/protocol/sandboxd/payload-layout.ts';
import {
  type Architecture,
  type Instruction,
  programFilter,
  socketsFilter,
} from '#src/protocol/sandboxd/system-call-filter.ts';

const run = promisify(execFile);

/** Where the sources, the headers, and the compiled files are. */
export const nativeFolder = import.meta.dirname;

/** A compiled file, as it is in the repository and in payloads for that architecture. */
export const nativeFile = (program: NativeProgram, architecture: string): string =>
  join(nativeFolder, `${program}-${architecture}`);

/** Names the compiler that the files were made with: another one may make other bytes of the same source. */
export const compilerFile = join(nativeFolder, 'compiler.txt');

export const architectures = ['x64', 'arm64'] as const satisfies readonly Architecture[];

/** Debian's names; the one for this machine is the same program as `gcc`. */
export const compilers: Readonly<Record<Architecture, string>> = {
  x64: 'x86_64-linux-gnu-gcc',
  arm64: 'aarch64-linux-gnu-gcc',
};

/**
 * A small file without library, loader or sections to write to, in one segment. What distributions switch on by default is
 * switched off by name, so that their compilers of one version make one file.
 */
const flags = [
  '-Os -std=gnu11 -static -nostdlib -ffreestanding -fno-builtin -fno-pie -no-pie -s',
  '-fno-stack-protector -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns -fno-ident',
  '-Wall -Wextra -Werror',
  '-Wl,--build-id=none -Wl,-z,noseparate-code -Wl,-z,noexecstack -Wl,-z,max-page-size=65536',
].flatMap((line) => line.split(' '));
const flagsOf: Readonly<Record<Architecture, readonly string[]>> = {
  x64: ['-fcf-protection=none'],
  arm64: ['-mbranch-protection=none'],
};

export async function compileNative(program: NativeProgram, architecture: Architecture): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-native-'));
  const file = join(folder, program);
  try {
    const all = [...flags, ...flagsOf[architecture], '-o', file, join(nativeFolder, `${program}.c`)];
    await run(compilers[architecture], all);
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Both compilers and their linkers, a line each. */
export async function compilerVersions(): Promise<string> {
  const lines = architectures.map(async (architecture) => {
    const compiler = await run(compilers[architecture], ['-dumpfullversion']);
    const linker = await run(compilers[architecture], ['-Wl,--version']);
    return `${architecture}: gcc ${compiler.stdout.trim()}, ${linker.stdout.split('\n')[0]}\n`;
  });
  return (await Promise.all(lines)).join('');
}

/** The headers with the rules for system calls, which TypeScript keeps: file name → text. */
export const headers = (): Readonly<Record<string, string>> => ({
  'filter.h': header('filter', programFilter),
  'sockets-filter.h': header('sockets', socketsFilter),
});

function header(name: string, filter: (architecture: Architecture) => readonly Instruction[]): string {
  const tables = architectures.map((architecture, index) => {
    const rows = filter(architecture).map((each) => `  ${initializer(each)},\n`);
    return `#${index === 0 ? 'if' : 'elif'} defined(${macros[architecture]})\n${table(name, rows.join(''))}`;
  });
  return `${preface}${tables.join('')}#endif\n`;
}

const macros: Readonly<Record<Architecture, string>> = { x64: '__x86_64__', arm64: '__aarch64__' };

const preface = `/* Written from src/protocol/sandboxd/system-call-filter.ts by \`node infra/payload/native/main.ts\`. */
struct instruction { unsigned short code; unsigned char ifTrue, ifFalse; unsigned int operand; };

`;

const table = (name: string, rows: string) => `static const struct instruction ${name}[] = {\n${rows}};\n`;

function initializer([code, ifTrue, ifFalse, operand]: Instruction): string {
  return `{ 0x${code.toString(16)}, ${ifTrue}, ${ifFalse}, 0x${operand.toString(16)} }`;
}
