import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import type { CanOverlay } from '../bwrap/try-overlay.ts';
import type { OwnIds } from '../own-ids.ts';

/** Why this machine can use no image of a registry, as the end of a sentence; null: it can. */
export async function imageTrouble(
  { idRanges }: Pick<OwnIds, 'idRanges'>,
  canOverlay: CanOverlay,
  folder: string,
): Promise<string | null> {
  if (idRanges === null) return 'node is not root, or cannot give each sandbox user ids of its own';
  if (!(await exists('skopeo'))) return 'skopeo is not installed (apt-get install skopeo)';
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (await canOverlay(folder)) return null;
  } catch (thrown) {
    // Other sandboxes need no such folder.
    return `the folder for images (CORRAL_IMAGE_DIR) cannot be used: ${String(thrown)}`;
  }
  return `the owners of files in ${folder} cannot be shifted; let CORRAL_IMAGE_DIR name a folder on ext4, xfs or btrfs, with Linux 5.19 or newer`;
}

async function exists(program: string): Promise<boolean> {
  const child = spawn('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0;
}
