import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrograms } from '#infra/cluster/binaries/cache.ts';
import { clusterPrograms } from '#infra/cluster/binaries/programs.ts';
import { openCluster } from '#infra/cluster/cluster-file.ts';
import { describeError, exitCodeOf } from '#infra/cluster/describe-error.ts';
import { takeDown } from '#infra/cluster/down.ts';
import { clusterVariable, runInCluster } from '#infra/cluster/enter.ts';
import { unlessInterrupted, untilInterrupted } from '#infra/cluster/interruption.ts';
import { requireRoot, startCluster } from '#infra/cluster/up.ts';
import giveImages from '../chart/give-images.ts';
import { scenes, type Scenes, withScenes } from './page.ts';
import { play } from './play.ts';

/**
 * `npm run walk-through`: plays docs/walk-through.md on the cluster that CORRAL_CLUSTER names, or on one that is started for it,
 * and writes what was printed between the page's sentences. `--print`: to the terminal instead.
 */
const page = join(import.meta.dirname, '../../docs/walk-through.md');
const name = 'walk';
const say = (line: string): void => console.error(`walk-through: ${line}`);

const interrupted = untilInterrupted();
process.exit(await main());

async function main(): Promise<number> {
  try {
    if (process.env['KUBECONFIG']) return await playHere();
    requireRoot();
    await unlessInterrupted(ensurePrograms(clusterPrograms, say), interrupted);
    const running = process.env[clusterVariable];
    return running ? await enter(running) : await inOwnCluster();
  } catch (error) {
    console.error(describeError(error));
    return exitCodeOf(error, interrupted);
  }
}

/** This program again, in the cluster's hub, where pods are reached. */
async function enter(cluster: string): Promise<number> {
  const again = [process.execPath, import.meta.filename, ...process.argv.slice(2)];
  return runInCluster(await openCluster(cluster), again, interrupted);
}

async function inOwnCluster(): Promise<number> {
  await startCluster({ name, nodes: 2, fakeNodes: 0, nodeLoss: 'fast', images: [] }, say, interrupted);
  try {
    return await enter(name);
  } finally {
    await takeDown(name);
  }
}

async function playHere(): Promise<number> {
  await unlessInterrupted(giveImages(), interrupted);
  const played = await unlessInterrupted(play(say), interrupted);
  if (process.argv.includes('--print')) console.log(printed(played));
  else await writeFile(page, withScenes(await readFile(page, 'utf8'), played));
  return 0;
}

function printed(played: Scenes): string {
  return scenes.map((scene) => `== ${scene}\n${played[scene]}\n`).join('\n');
}
