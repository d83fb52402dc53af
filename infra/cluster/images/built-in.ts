import { copyFile, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../machine/run.ts';
import { writeArchive } from './archive.ts';

/** Holds a pod's namespaces open. It never reaps: pods do not share one process namespace with it. */
export const pauseImage = 'corral.local/pause:1';
/** The smallest image in which a shell runs; for tests of the cluster itself. */
export const busyboxImage = 'corral.local/busybox:1';

/** Makes both from Debian's static busybox, which needs no compiler; returns the paths of their archives. */
export async function makeBuiltInImages(folder: string): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const rootFolder = await mkdtemp(join(tmpdir(), 'corral-busybox-'));
  try {
    await fillRoot(rootFolder);
    const images = [
      { name: pauseImage, archive: join(folder, 'pause.tar'), command: ['/bin/sleep', 'infinity'] },
      { name: busyboxImage, archive: join(folder, 'busybox.tar'), command: ['/bin/sh'] },
    ];
    for (const { archive, ...image } of images) await writeArchive({ ...image, rootFolder }, archive);
    return images.map(({ archive }) => archive);
  } finally {
    await rm(rootFolder, { recursive: true, force: true });
  }
}

async function fillRoot(rootFolder: string): Promise<void> {
  await mkdir(join(rootFolder, 'bin'));
  await mkdir(join(rootFolder, 'tmp'), { mode: 0o1777 });
  const busybox = (await run(['sh', '-c', 'command -v busybox'])).trim();
  await copyFile(busybox, join(rootFolder, 'bin/busybox'));
  const applets = (await run([busybox, '--list'])).trim().split('\n');
  const links = applets.filter((applet) => applet !== 'busybox');
  await Promise.all(links.map((applet) => symlink('busybox', join(rootFolder, 'bin', applet))));
}
