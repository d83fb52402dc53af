import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createHttpClient } from '#cli/gateway/http-client.ts';
import { openCluster } from '#infra/cluster/cluster-file.ts';
import { clusterVariable, runInCluster } from '#infra/cluster/enter.ts';
import { startHere, startInPods } from './engine.ts';
import { playTask } from './play-task.ts';
import { formatTable, judge, type Row } from './table.ts';

/*
 * `npm run test:strangers -- --tasks FOLDER --roots FOLDER [--cluster NAME] [NAME…]`: plays tasks in Harbor's format in a container and on
 * Corral, on this machine or in pods of a test cluster, and compares their rewards. See docs/contributing.md.
 */

const usage =
  'usage: npm run test:strangers -- --tasks FOLDER --roots FOLDER [--cluster NAME] [--times N] [NAME…]';

type Options = {
  readonly tasks: readonly string[];
  readonly roots: string;
  readonly times: number;
  /** Null: sandboxes of this machine. */
  readonly cluster: string | null;
};

function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      tasks: { type: 'string' },
      roots: { type: 'string' },
      times: { type: 'string', default: '1' },
      cluster: { type: 'string' },
    },
  });
  const { tasks: folder, roots, times, cluster = null } = values;
  if (folder === undefined || roots === undefined || !(Number(times) >= 1)) throw new Error(usage);
  const names = positionals.length > 0 ? positionals : readdirSync(folder).toSorted();
  const tasks = names
    .map((name) => resolve(folder, name))
    .filter((task) => positionals.length > 0 || existsSync(join(task, 'task.toml')));
  if (tasks.length === 0) throw new Error(`${folder} has no folder with a task.toml\n${usage}`);
  return { tasks, roots: resolve(roots), times: Number(times), cluster };
}

async function main({ tasks, roots, times, cluster }: Options): Promise<number> {
  // An overlay cannot lie above another: not in /tmp, which may be one.
  mkdirSync('/var/tmp', { recursive: true });
  const work = mkdtempSync('/var/tmp/corral-strangers-');
  const { fleet, imageOf, stop } = await (cluster === null ? startHere(roots) : startInPods(cluster));
  const client = createHttpClient({ url: fleet.gatewayUrl, key: fleet.apiKey, run: 'strangers' });
  const rootOf = (name: string) => join(roots, name);
  const rows: Row[] = [];
  const cleanUp = async () => {
    await client.close();
    await stop();
    rmSync(work, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void cleanUp().finally(() => process.exit(130)));
  try {
    for (const task of tasks) {
      for (let time = 0; time < times; time += 1) {
        const row = await playTask({ client, environment: 'strangers', rootOf, imageOf, work }, task);
        console.error(`strangers: ${row.name}: ${judge(row)}`);
        rows.push(row);
      }
    }
  } finally {
    await cleanUp();
  }
  console.log(formatTable(rows));
  return rows.some((row) => judge(row) === 'failed') || rows.every((row) => judge(row) !== 'passed') ? 1 : 0;
}

/** Pods are reached from inside their cluster's network. */
async function play(options: Options): Promise<number> {
  const { cluster } = options;
  if (cluster === null || process.env[clusterVariable] === cluster) return main(options);
  return runInCluster(await openCluster(cluster), [process.execPath, ...process.argv.slice(1)]);
}

try {
  process.exitCode = await play(readOptions(process.argv.slice(2)));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
