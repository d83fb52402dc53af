import { accessSync, constants } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { CanOverlay } from '../bwrap/try-overlay.ts';
import type { OwnIds } from '../own-ids.ts';

/** What fetches and unpacks images, with Debian's packages of it. `zstd` is not among them: few images need it, and these name it. */
const programs: Readonly<Record<string, string>> = {
  skopeo: 'skopeo',
  tar: 'tar',
  gzip: 'gzip',
  find: 'findutils',
  xargs: 'findutils',
  awk: 'mawk',
  sed: 'sed',
  flock: 'util-linux',
};

/** Why this machine can use no image of a registry, as the end of a sentence; null: it can. */
export async function imageTrouble(
  { idRanges }: Pick<OwnIds, 'idRanges'>,
  canOverlay: CanOverlay,
  folder: string,
): Promise<string | null> {
  if (idRanges === null) return 'node is not root, or cannot give each sandbox user ids of its own';
  const missing = Object.keys(programs).filter((program) => !exists(program));
  if (missing.length > 0) return notInstalled(missing);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (await canOverlay(folder)) return null;
  } catch (thrown) {
    // Other sandboxes need no such folder.
    return `the folder for images (CORRAL_IMAGE_DIR) cannot be used: ${String(thrown)}`;
  }
  return `the owners of files in ${folder} cannot be shifted; let CORRAL_IMAGE_DIR name a folder on ext4, xfs or btrfs, with Linux 5.19 or newer`;
}

function notInstalled(missing: readonly string[]): string {
  const packages = new Set(missing.map((program) => programs[program]));
  const are = missing.length === 1 ? 'is' : 'are';
  return `${missing.join(', ')} ${are} not installed (apt-get install ${[...packages].join(' ')})`;
}

function exists(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => canRun(join(folder, program)));
}

function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
