import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll } from 'vitest';
import { previousCommit } from '#infra/images/previous.ts';
import type { FleetState, FleetStateOptions } from '#src/adapters/redis/fleet-state.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** What the tests use of its fleet state. */
export type FleetBefore = Pick<
  FleetState,
  'calls' | 'claims' | 'close' | 'environments' | 'grades' | 'lifecycle' | 'pool' | 'setups'
>;

type ReleaseBefore = {
  readonly connect: (options: FleetStateOptions) => Promise<FleetBefore>;
  readonly remove: () => Promise<void>;
};

/**
 * The fleet state of the previous release next to that of a test file's world, on the same Redis. `isThere` is false if this checkout has no
 * history: the tests that need that release are skipped then, and it says so.
 */
export async function previousReleaseNextTo(world: { readonly options: FleetStateOptions }) {
  const release = await unpackReleaseBefore();
  let connected: FleetBefore | null = null;
  beforeAll(async () => {
    if (release !== null) connected = await release.connect(world.options);
  });
  afterAll(async () => {
    await connected?.close();
    await release?.remove();
  });
  const fleet = (): FleetBefore => {
    if (connected === null) throw new Error('the previous release is not connected');
    return connected;
  };
  return { isThere: release !== null, fleet };
}

async function unpackReleaseBefore(): Promise<ReleaseBefore | null> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-before-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  const archive = join(folder, 'sources.tar');
  try {
    await run('git', ['archive', '--output', archive, await previousCommit(), 'src'], { cwd: root });
  } catch (error) {
    await remove();
    console.warn('SKIPPED: tests with the previous release need its commit; fetch the history', error);
    return null;
  }
  await run('tar', ['-xf', archive, '-C', folder]);
  await copyFile(join(root, 'package.json'), join(folder, 'package.json'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const { connectFleetState } = (await import(join(folder, 'src/adapters/redis/fleet-state.ts'))) as {
    readonly connectFleetState: (options: FleetStateOptions) => Promise<FleetBefore>;
  };
  return { connect: connectFleetState, remove };
}
