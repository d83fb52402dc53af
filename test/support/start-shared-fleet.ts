import { rm } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { startFleet } from '#cli/fleet/start-fleet.ts';
import { fleetFolders, sharedPayload } from './fleet-folders.ts';
import { fleetLeftBy } from './fleet-left-behind.ts';
import { sharedEnvironments } from './shared-environments.ts';

/** Starts one fleet before the first file that shares it; after the last one it is stopped, and must have left nothing. */
export default async function startSharedFleet(project: TestProject): Promise<() => Promise<void>> {
  const { root, environmentsDir, stateDir } = await fleetFolders(sharedEnvironments);
  const remove = () => rm(root, { recursive: true, force: true });
  const fleet = await startFleet({ environmentsDir, stateDir, payloadDir: sharedPayload }).catch(
    async (error: unknown) => {
      await remove();
      throw error;
    },
  );
  const { gatewayUrl, apiKey } = fleet;
  project.provide('sharedFleet', { gatewayUrl, apiKey, environmentsDir });
  return async () => {
    await fleet.stop();
    const left = await fleetLeftBy(stateDir);
    await remove();
    if (left.length > 0) throw new Error(`the shared fleet left behind: ${left.join(', ')}`);
  };
}
