import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { type FleetEvent, startFleetOnCluster } from '#cli/fleet/start-fleet.ts';
import { inOwnFolder } from '#cli/fleet/temporary-fleet.ts';
import type { Random } from '#src/ports/random.ts';
import { type DemoFleet, environment, environmentsDir } from './demo-fleet.ts';
import { openNamespace } from './namespace.ts';

export type OnCluster = {
  readonly minReady: number;
  /** Has sandboxd in it and the tasks' repositories; every node can get it. */
  readonly image: string;
  readonly random: Random;
  readonly onEvent: (event: FleetEvent) => void;
};

/**
 * The demo's fleet with sandboxes as pods, in a namespace of its own that goes with it. The cluster is the one that
 * kubectl would use, and its pods are reached by their addresses.
 */
export async function startDemoFleetOnCluster(wish: OnCluster): Promise<DemoFleet> {
  return inOwnFolder('demo', async (stateDir) => {
    const namespace = await openNamespace(`corral-demo-${wish.random.text(6)}`);
    try {
      const places = await writeFiles(stateDir, namespace.name, wish.image);
      const fleet = await startFleetOnCluster(
        {
          environmentsDir: places.environments,
          stateDir,
          pool: { [environment]: { minReady: wish.minReady } },
          onEvent: wish.onEvent,
        },
        { file: places.cluster },
      );
      const { gatewayUrl, controllerUrl, apiKey } = fleet;
      const stop = () => fleet.stop().then(() => namespace.remove());
      const kill = (sandbox: string) => namespace.killSandbox(sandbox);
      return { gatewayUrl, controllerUrl, apiKey, consoleUrl: null, kill, stop };
    } catch (error) {
      await namespace.remove();
      throw error;
    }
  });
}

/** The environment of the gallery, of the image, and what an operator says of the cluster. */
async function writeFiles(stateDir: string, namespace: string, image: string) {
  const environments = join(stateDir, 'environments');
  const cluster = join(stateDir, 'cluster.yaml');
  await mkdir(environments);
  const file = `${environment}.yaml`;
  const text = await readFile(join(environmentsDir, file), 'utf8');
  await writeFile(join(environments, file), withImage(text, image));
  await cp(join(environmentsDir, environment), join(environments, environment), { recursive: true });
  await writeFile(cluster, `{ namespace: ${namespace}, sandboxd: baked }\n`);
  return { environments, cluster };
}

/** An environment's file with another image, which brings along what were folders of this machine. */
export function withImage(text: string, image: string): string {
  const document = parseDocument(text);
  document.setIn(['sandbox', 'image'], image);
  document.deleteIn(['sandbox', 'data']);
  return document.toString();
}
