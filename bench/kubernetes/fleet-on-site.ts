import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFleetOnCluster } from '#cli/fleet/start-fleet.ts';
import { type BenchClient, createBenchClient } from '../fleet.ts';
import { apiCalls, type ApiCalls } from './api-calls.ts';
import { environmentsDir, type Site } from './site.ts';

/** A whole fleet whose sandboxes are pods of a site: redis, controller and gateway as processes here. */
export type SiteFleet = AsyncDisposable &
  BenchClient & {
    /** What its controller has asked of the API server so far. */
    apiCalls(): Promise<ApiCalls>;
    controllerPid(): Promise<number>;
  };

export async function startSiteFleet(
  site: Site,
  environment: 'fake' | 'real',
  pool: { minReady: number; max: number },
): Promise<SiteFleet> {
  const stateDir = await mkdtemp(join(tmpdir(), 'corral-bench-'));
  const fleet = await startFleetOnCluster(
    { environmentsDir, stateDir, pool: { [environment]: pool } },
    { file: site.clusterFile },
  );
  const client = createBenchClient(fleet, environment);
  return {
    ...client,
    apiCalls: async () => apiCalls(await client.metrics()),
    controllerPid: () => pidOf(stateDir, 'controller'),
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await fleet.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

/** As the fleet itself finds its parts again. */
async function pidOf(stateDir: string, part: string): Promise<number> {
  return (JSON.parse(await readFile(join(stateDir, 'parts', `${part}.json`), 'utf8')) as { pid: number }).pid;
}
