import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { taskFiles } from '#infra/images/tasks/task-files.ts';
import { readHowTo, runBlocks } from './page.ts';
import { makeSweTasks, type SweTask } from './swe-tasks.ts';

/** What docs/swe-bench.md makes in a folder, for images of this registry. */
export type SwePage = {
  readonly folder: string;
  readonly tasks: readonly SweTask[];
  /** The environment, and the files that it names. */
  readonly environment: string;
  readonly files: Readonly<Record<string, string>>;
  /** Rows as the page makes them. */
  readonly rows: readonly SweRow[];
  /** Plays the page's preflight, ladder and announcement on a fleet; returns what they print. A cluster of tests enforces no network policy. */
  play(fleet: FleetAddress, where: 'one machine' | 'cluster'): Promise<string>;
};

type FleetAddress = { readonly gatewayUrl: string; readonly apiKey: string };

export type SweRow = { readonly id: string; readonly image: string; readonly patch: string };

/** Follows the page up to the fleet's start. The caller removes the folder. */
export async function followSwePage(host: string): Promise<SwePage> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-swe-'));
  const tasks = await makeSweTasks(await taskFiles(), folder);
  const { files, play } = readHowTo('swe-bench.md', host);
  const instances = tasks.map(({ instance }) => `${JSON.stringify(instance)}\n`).join('');
  await writeFile(join(folder, 'instances.jsonl'), instances);
  await runBlocks(files, folder);
  const read = (name: string) => readFile(join(folder, 'environments', name), 'utf8');
  const rows = await read('swe/rows.jsonl');
  return {
    folder,
    tasks,
    environment: await read('swe.yaml'),
    files: { 'swe/grade.py': await read('swe/grade.py'), 'swe/rows.jsonl': rows },
    rows: rows
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as SweRow),
    play: ({ gatewayUrl, apiKey }, where) => {
      const script = where === 'cluster' ? play.replace('preflight swe', '$& --no-egress') : play;
      return runBlocks(script, folder, { CORRAL_URL: gatewayUrl, CORRAL_KEY: apiKey });
    },
  };
}
