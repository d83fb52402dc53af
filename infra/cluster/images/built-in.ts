import { join } from 'node:path';
import { busyboxRoot } from '#infra/images/contents/busybox.ts';
import { layer } from '#infra/images/contents/tree.ts';
import { writeArchive } from '#infra/images/oci/archive.ts';

/** Holds a pod's namespaces open, and reaps orphans where the pod's processes share one namespace: it is their pid 1. */
export const pauseImage = 'corral.local/pause:1';
/** The smallest image in which a shell runs; for tests of the cluster itself. */
export const busyboxImage = 'corral.local/busybox:1';

// While it waits for its own child, the shell reaps everybody's; as pid 1 it gets only the signals that it asks for.
const reapForEver = 'trap exit INT TERM; while :; do sleep 3600 & wait $!; done';

const builtIn = [
  { name: pauseImage, file: 'pause.tar', command: ['/bin/sh', '-c', reapForEver] },
  { name: busyboxImage, file: 'busybox.tar', command: ['/bin/sh'] },
];

/** Makes both from Debian's static busybox, which needs no compiler; returns the paths of their archives. */
export async function makeBuiltInImages(folder: string): Promise<readonly string[]> {
  const layers = [layer(await busyboxRoot())];
  const config = { Env: ['PATH=/bin'] };
  const archives = builtIn.map(async ({ name, file, command }) => {
    const archive = join(folder, file);
    await writeArchive({ name, layers, config: { ...config, Cmd: command } }, archive);
    return archive;
  });
  return Promise.all(archives);
}
