import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { refusedTasks, writeHarborTasks } from './harbor-tasks.ts';
import { readHowTo, runBlocks } from './page.ts';
import type { SweTask } from './swe-tasks.ts';

/** What docs/terminal-bench.md makes in a folder. */
export type HarborPage = {
  readonly folder: string;
  readonly environment: string;
  /** Plays the page's check of a task that works, then checks each refused task; returns what they print. */
  play(fleet: { readonly gatewayUrl: string; readonly apiKey: string }): Promise<string>;
};

/** Follows the page up to the fleet's start. `image`: of the tasks. The caller removes the folder. */
export async function followHarborPage(host: string, task: SweTask, image: string): Promise<HarborPage> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-harbor-'));
  const { files, play } = readHowTo('terminal-bench.md', host);
  await mkdir(join(folder, 'environments'));
  await writeHarborTasks(join(folder, 'tasks'), task, image);
  await runBlocks(files, folder);
  const refused = Object.keys(refusedTasks)
    .map((name) => `! corral preflight terminal-bench --task tasks/${name}`)
    .join('\n');
  return {
    folder,
    environment: await readFile(join(folder, 'environments/terminal-bench.yaml'), 'utf8'),
    play: ({ gatewayUrl, apiKey }) =>
      runBlocks(`${play}\n${refused}`, folder, { CORRAL_URL: gatewayUrl, CORRAL_KEY: apiKey }),
  };
}

/** Fails unless the task that works is proven, and each other one is refused by name without a sandbox. */
export function readHarborPage(printed: string): Readonly<Record<string, string>> {
  const lines = printed.split('\n');
  const seen = (task: string, what: string) =>
    lines.find((line) => line.includes(`${task}: ${what} `)) ?? `${task} has no line about ${what}`;
  const refusals = Object.keys(refusedTasks).map(
    (name) => [name, / (\w+): the task /.exec(seen(name, 'demands'))?.[1] ?? seen(name, 'demands')] as const,
  );
  return {
    ...Object.fromEntries(refusals),
    standing: seen('fix-hyphen', 'standing'),
    nop: seen('fix-hyphen', 'control nop'),
  };
}
