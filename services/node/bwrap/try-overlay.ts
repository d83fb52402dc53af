import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { payloadNative } from '#src/protocol/sandboxd/payload-layout.ts';
import { policyId } from './places.ts';
import { idMap } from './shifted-ids.ts';

/** Whether the folder of an image can be the lowest layer of sandboxes' roots. */
export type CanOverlay = (folder: string) => Promise<boolean>;

/** For a machine on which none can. */
export const noOverlay: CanOverlay = async () => false;

/**
 * Tries it once for each file system, in a mount namespace that ends with the try: the kernel must be able to shift the owners of
 * files on that file system (an overlay, as in a container, cannot), and to lay a writable layer above it. Needs root, and the
 * folder in which launches mount what a sandbox is made of.
 */
export function tryOverlays(stageFolder: string, payloadFolder: string): CanOverlay {
  const program = payloadNative(payloadFolder, 'mount-root');
  const tries = new Map<number, Promise<boolean>>();
  return async (folder) => {
    const { dev } = await stat(folder);
    const known = tries.get(dev) ?? tryOverlay(program, folder, join(stageFolder, 'trial'));
    tries.set(dev, known);
    return known;
  };
}

/** Ids that no process has, in a namespace that is gone at once. */
const someBase = 65_536;
const someMap = idMap(someBase, policyId);

const script = `
set -e
mount -t tmpfs corral-trial "$3"
cd "$3"
mkdir skeleton disk root grader
"$1" ${someBase} "$4" "$4" "$2" "$3"
`;

async function tryOverlay(program: string, folder: string, stage: string): Promise<boolean> {
  await mkdir(stage, { recursive: true });
  const argv = ['--mount', '--', 'sh', '-c', script, 'corral-trial', program, folder, stage, someMap];
  const child = spawn('unshare', argv, { stdio: 'ignore' });
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code === 0;
  } catch {
    return false;
  }
}
