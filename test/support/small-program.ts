import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compilers, nativeFolder } from '#infra/payload/native/compile.ts';

const flags =
  '-x c - -Os -std=gnu11 -static -nostdlib -ffreestanding -fno-builtin -fno-pie -no-pie -fno-stack-protector -s';

/**
 * A shell command that writes and runs a program in C, for images with nothing to make a system call with. `body` is what it does, with the
 * functions of `infra/payload/native/kernel.h`; the numbers of system calls are those of `sys/syscall.h`.
 */
export function runsProgram(body: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'corral-small-program-'));
  const file = join(folder, 'program');
  const source = `#include <sys/syscall.h>\n#include "kernel.h"\n__attribute__((noreturn, used)) void start(word *stack) { (void)stack; ${body} for (;;) call(SYS_exit_group, 0, 0, 0, 0); }`;
  try {
    execFileSync(
      compilers[process.arch === 'x64' ? 'x64' : 'arm64'],
      [...flags.split(' '), '-I', nativeFolder, '-o', file],
      { input: source },
    );
    return `echo ${readFileSync(file, 'base64')} | base64 -d > program && chmod +x program && ./program`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
