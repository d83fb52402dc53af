import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Whether folders of this host can be laid one above the other, read-only (overlayfs). Tried once, in a mount namespace that
 * ends with the try: a kernel may lack it, and a container may forbid it. Needs root.
 */
export async function tryLayers(stateFolder: string): Promise<boolean> {
  // Launches name places in it, and these names are words of a table of mounts and of overlayfs.
  if (!/^[\w./-]+$/.test(stateFolder)) return false;
  const folder = join(stateFolder, 'layers-trial');
  await mkdir(join(folder, 'upper'), { recursive: true });
  await mkdir(join(folder, 'lower'), { recursive: true });
  const mount = ['mount', '-t', 'overlay', '-o', 'ro,lowerdir=upper:lower', 'corral-layers', 'lower'];
  const child = spawn('unshare', ['--mount', '--', ...mount], { cwd: folder, stdio: 'ignore' });
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code === 0;
  } catch {
    return false;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
