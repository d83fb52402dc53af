import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { payloadLayout } from '#src/protocol/sandboxd/payload-layout.ts';
import { bundleSandboxd } from './bundle.ts';
import { payloadKey } from './key.ts';
import { copyRuntime } from './runtime.ts';

/** The folder that is mounted, read-only, into every sandbox. */
export type Payload = { readonly dir: string; readonly key: string };

/**
 * Makes the payload in a folder of its own below `targetDir`, or finds it there: the name holds a hash of all that went
 * in. It is built beside and renamed, so builders may race, and a running sandbox keeps the files that it was started with.
 */
export async function buildPayload(targetDir: string): Promise<Payload> {
  const key = await payloadKey();
  const dir = join(targetDir, `payload-${key}`);
  if (!(await exists(dir))) {
    await mkdir(targetDir, { recursive: true });
    const building = await mkdtemp(join(targetDir, '.building-'));
    try {
      await Promise.all([bundleSandboxd(join(building, payloadLayout.code)), copyRuntime(building)]);
      await publish(building, dir);
    } finally {
      await rm(building, { recursive: true, force: true });
    }
  }
  return { dir, key };
}

async function publish(building: string, dir: string): Promise<void> {
  try {
    await rename(building, dir);
  } catch (error) {
    // Somebody else was quicker, and what they built has the same content.
    if (!(await exists(dir))) throw error;
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
