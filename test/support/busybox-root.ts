import { chmod, copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder that can be a sandbox's root: busybox as shell and `cat`, and a file `task` with this text. */
export async function busyboxRoot(folder: string, task: string): Promise<void> {
  await mkdir(join(folder, 'bin'), { recursive: true });
  await chmod(folder, 0o755);
  await copyFile('/bin/busybox', join(folder, 'bin/busybox'));
  for (const name of ['sh', 'cat']) await symlink('busybox', join(folder, 'bin', name));
  await writeFile(join(folder, 'task'), task);
}
