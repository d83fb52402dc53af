import { join } from 'node:path';
import type { Cluster } from '#infra/cluster/api.ts';
import { inNamespace } from '#infra/cluster/machine/namespace.ts';
import { run } from '#infra/cluster/machine/run.ts';
import { fakePodRange } from '#infra/cluster/plan.ts';
import { inCluster } from './in-cluster.ts';

/** What a cluster costs and what Corral adds, on two real and twenty fake nodes. */
export const kubernetes = inCluster({
  name: 'kubernetes',
  cluster: { nodes: 2, fakeNodes: 20, nodeLoss: 'patient' },
  images: ['bare'],
  main: join(import.meta.dirname, 'kubernetes/main.ts'),
  prepare: answerForFakePods,
});

/** Every address of the fake pods' network is one of the hub's own, so that one process can listen at all of them. */
async function answerForFakePods({ hub }: Cluster): Promise<void> {
  await run(inNamespace(hub, ['ip', 'route', 'replace', 'local', fakePodRange, 'dev', 'lo']));
}
