import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from '#infra/cluster/api.ts';
import { openCluster } from '#infra/cluster/cluster-file.ts';
import { takeDown } from '#infra/cluster/down.ts';
import { clusterVariable, runInCluster } from '#infra/cluster/enter.ts';
import type { ClusterWish } from '#infra/cluster/plan.ts';
import { startCluster } from '#infra/cluster/up.ts';
import { buildImage } from '#infra/images/build.ts';
import type { ImageName } from '#infra/images/catalogue.ts';
import type { Benchmark, Figure } from './figures.ts';

const clusterName = 'bench';

type InCluster = {
  readonly name: string;
  readonly cluster: Pick<ClusterWish, 'nodes' | 'fakeNodes' | 'nodeLoss'>;
  readonly images: readonly ImageName[];
  /** `main.ts --cluster NAME --out FILE`: writes the figures as JSON. */
  readonly main: string;
  readonly prepare?: (cluster: Cluster) => Promise<void>;
};

/** Measurements in a cluster that is started for them and taken down again, unless `CORRAL_CLUSTER` names one that is up. */
export function inCluster(about: InCluster): Benchmark {
  return {
    name: about.name,
    run: async (say) => {
      const named = process.env[clusterVariable];
      if (named !== undefined) return measureIn(await openCluster(named), about);
      const images: string[] = [];
      // One after the other: they share the payload and the packages.
      for (const image of about.images) images.push((await buildImage(image)).archive);
      const cluster = await startCluster({ name: clusterName, ...about.cluster, images }, say);
      try {
        return await measureIn(cluster, about);
      } finally {
        await takeDown(clusterName);
      }
    },
  };
}

/** Inside the cluster's network, which a running process cannot enter, so in one of its own. */
async function measureIn(cluster: Cluster, { main, prepare }: InCluster): Promise<readonly Figure[]> {
  await prepare?.(cluster);
  const folder = await mkdtemp(join(tmpdir(), 'corral-bench-'));
  const out = join(folder, 'figures.json');
  try {
    const argv = [process.execPath, main, '--cluster', cluster.name, '--out', out];
    const code = await runInCluster(cluster, argv);
    if (code !== 0) throw new Error(`the measurements ended with exit code ${code}`);
    return JSON.parse(await readFile(out, 'utf8')) as readonly Figure[];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
