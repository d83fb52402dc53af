import { execFile } from 'node:child_process';
import { chmod, constants, copyFile, link, mkdir, realpath, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type NativeProgram, nativePrograms, payloadLayout } from '#src/protocol/sandboxd/payload-layout.ts';

const run = promisify(execFile);
/** Everybody in the sandbox may read and run it: sandboxd, and the helper as the command's user. */
const readableMode = 0o755;

/**
 * Puts this process's own Node there, with its ELF loader and libraries, so that the sandbox's root needs none, and our own
 * compiled programs.
 */
export async function copyRuntime(
  dir: string,
  nativeFile: (program: NativeProgram) => string,
): Promise<void> {
  const node = await realpath(process.execPath);
  const libraries = join(dir, payloadLayout.libraries);
  await mkdir(libraries);
  await linkOrCopy(node, join(dir, payloadLayout.node));
  for (const program of nativePrograms)
    await copyReadable(nativeFile(program), join(dir, payloadLayout[program]));
  await symlink(join('..', payloadLayout.node), join(dir, payloadLayout.daemon));
  for (const library of parseLdd((await run('ldd', [node])).stdout)) {
    const name = isLoader(library) ? basename(payloadLayout.loader) : basename(library);
    await copyReadable(await realpath(library), join(libraries, name));
  }
}

/** The files that `ldd` names, the loader among them; what the kernel itself provides has no path. */
export function parseLdd(output: string): readonly string[] {
  const paths = output.split('\n').map((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1]);
  return paths.filter((path) => path !== undefined);
}

function isLoader(path: string): boolean {
  return basename(path).startsWith('ld-linux');
}

/** The binary has 120 MB and never changes: where the file system allows, it is the same file under a second name. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch {
    await copyReadable(from, to);
  }
}

async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, readableMode);
}
