import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { openCluster } from '#infra/cluster/cluster-file.ts';
import type { Cluster } from '#infra/cluster/api.ts';
import type { Figure } from '../figures.ts';
import { burstOnWarmPool } from './burst.ts';
import { coldBurst } from './cold.ts';
import { creates } from './creates.ts';
import { manyPods } from './memory.ts';

/**
 * `main.ts --cluster NAME --out FILE [PART…]`: the measurements themselves, inside the cluster's network; `bench/kubernetes.ts`
 * starts it there. Writes the figures as JSON.
 */
type Part = (cluster: Cluster, say: (line: string) => void) => Promise<readonly Figure[]>;

const parts: Readonly<Record<string, Part>> = {
  creates,
  burst: burstOnWarmPool,
  memory: manyPods,
  cold: coldBurst,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { cluster: { type: 'string', default: '' }, out: { type: 'string', default: '' } },
});
const cluster = await openCluster(values.cluster);
const figures: Figure[] = [];
for (const name of positionals.length === 0 ? Object.keys(parts) : positionals) {
  const say = (line: string) => console.error(`kubernetes: ${name}: ${line}`);
  say(`load average ${loadavg()[0]?.toFixed(1)}`);
  figures.push(...((await parts[name]?.(cluster, say)) ?? []));
}
await writeFile(values.out, JSON.stringify(figures));
