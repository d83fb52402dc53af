import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from '../infra/cluster/api.ts';
import { openCluster } from '../infra/cluster/cluster-file.ts';
import { takeDown } from '../infra/cluster/down.ts';
import { clusterVariable, runInCluster } from '../infra/cluster/enter.ts';
import { inNamespace } from '../infra/cluster/machine/namespace.ts';
import { run } from '../infra/cluster/machine/run.ts';
import { fakePodRange } from '../infra/cluster/plan.ts';
import { startCluster } from '../infra/cluster/up.ts';
import { buildImage } from '../infra/images/build.ts';
import type { Benchmark, Figure } from './figures.ts';

const name = 'bench';

/**
 * What a cluster costs and what Corral adds, in a cluster of two real and twenty fake nodes. It starts one and takes it
 * down again, unless `CORRAL_CLUSTER` names one that is up and has such nodes.
 */
export const kubernetes: Benchmark = {
  name: 'kubernetes',
  run: async (say) => {
    const named = process.env[clusterVariable];
    if (named !== undefined) return measureIn(await openCluster(named));
    const { archive } = await buildImage('bare');
    const wish = { name, nodes: 2, fakeNodes: 20, nodeLoss: 'patient', images: [archive] } as const;
    const cluster = await startCluster(wish, say);
    try {
      return await measureIn(cluster);
    } finally {
      await takeDown(name);
    }
  },
};

/** Inside the cluster's network, which a running process cannot enter, so in one of its own. */
async function measureIn(cluster: Cluster): Promise<readonly Figure[]> {
  await answerForFakePods(cluster);
  const folder = await mkdtemp(join(tmpdir(), 'corral-bench-'));
  const out = join(folder, 'figures.json');
  const main = join(import.meta.dirname, 'kubernetes/main.ts');
  try {
    const argv = [process.execPath, main, '--cluster', cluster.name, '--out', out];
    const code = await runInCluster(cluster, argv);
    if (code !== 0) throw new Error(`the measurements ended with exit code ${code}`);
    return JSON.parse(await readFile(out, 'utf8')) as readonly Figure[];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Every address of the fake pods' network is one of the hub's own, so that one process can listen at all of them. */
async function answerForFakePods({ hub }: Cluster): Promise<void> {
  await run(inNamespace(hub, ['ip', 'route', 'replace', 'local', fakePodRange, 'dev', 'lo']));
}
