import { execFileSync } from 'node:child_process';
import { chmod, copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Puts a program of this machine into such a root, with the libraries that it is linked to. */
export async function addProgram(root: string, program: string): Promise<void> {
  const linked = execFileSync('ldd', [program], { encoding: 'utf8' });
  const libraries = [...linked.matchAll(/(\/\S+) \(/g)].map(([, path = '']) => path);
  for (const file of [program, ...libraries]) {
    await mkdir(join(root, dirname(file)), { recursive: true });
    await copyFile(file, join(root, file));
  }
}

/** A folder that can be a sandbox's root: busybox as shell and `cat`, and a file `task` with this text. */
export async function busyboxRoot(folder: string, task: string): Promise<void> {
  await mkdir(join(folder, 'bin'), { recursive: true });
  await chmod(folder, 0o755);
  await copyFile('/bin/busybox', join(folder, 'bin/busybox'));
  for (const name of ['sh', 'cat']) await symlink('busybox', join(folder, 'bin', name));
  await writeFile(join(folder, 'task'), task);
}

/** An environment whose score is the number in the file `task` of its image. */
export const scoredByTask = (name: string, image: string) => `
name: ${name}
sandbox: { image: ${image}, disk: 64Mi, processes: 64 }
tools: { shell: { builtin: shell } }
grader:
  kind: command
  command: [sh, -c, 'cat /task > "$CORRAL_SCORE_FILE"']
  on_exit: discard
  on_timeout: discard
  on_out_of_memory: discard
  on_broken: 0
pool: { max: 20 }
`;
