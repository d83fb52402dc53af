import { join } from 'node:path';
import { inCluster } from './in-cluster.ts';

/** What it takes to install a fleet with Helm, and what it costs while nobody uses it. */
export const chart = inCluster({
  name: 'chart',
  cluster: { nodes: 2, fakeNodes: 0, nodeLoss: 'patient' },
  images: ['corral', 'sandboxd', 'bare', 'redis'],
  main: join(import.meta.dirname, 'chart/main.ts'),
});
