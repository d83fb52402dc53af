import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, kubectl } from '#infra/cluster/api.ts';

/** A disk of one node, for claims that name its storage class; nodes see this machine's folders. */
export type NodeVolume = {
  readonly storageClass: string;
  /** Where its files are, on this machine. */
  readonly folder: string;
  remove(): Promise<void>;
};

/** Offers one volume that is bound by the first claim of its class; nothing provisions any in the test cluster. */
export async function offerVolume(cluster: Cluster, node: string, name: string): Promise<NodeVolume> {
  const storageClass = `${name}-${process.pid}`;
  const folder = await mkdtemp(join(tmpdir(), `corral-${name}-`));
  const expression = { key: 'kubernetes.io/hostname', operator: 'In', values: [node] };
  const volume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: storageClass },
    spec: {
      storageClassName: storageClass,
      capacity: { storage: '10Gi' },
      accessModes: ['ReadWriteOnce', 'ReadWriteMany'],
      persistentVolumeReclaimPolicy: 'Retain',
      local: { path: folder },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } },
    },
  };
  await kubectl(cluster, ['create', '--filename=-'], JSON.stringify(volume));
  const remove = async () => {
    await kubectl(cluster, [
      'delete',
      'persistentvolume',
      storageClass,
      '--ignore-not-found',
      '--wait=false',
    ]);
    await rm(folder, { recursive: true, force: true });
  };
  return { storageClass, folder, remove };
}
