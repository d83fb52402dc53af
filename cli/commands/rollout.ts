import type { Command } from 'commander';
import { rolloutId, runId } from '#src/model/ids.ts';
import { RolloutAnswer } from '#src/protocol/native/rollouts.ts';
import type { HttpClient } from '../gateway/http-client.ts';
import { askNative, NotKnown } from '../gateway/native-client.ts';
import { RunsAnswer } from '#src/protocol/native/runs.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { describeStory } from '../stories/describe-story.ts';
import { lookUp } from '../stories/look-up.ts';
import { anyTenant, readLog, tellingStories } from '../stories/read-log.ts';
import type { RolloutStory } from '#src/reports/rollout-story.ts';
import { storyOfAnswer, withLog } from '../stories/rollout-sources.ts';
import { eventsHelp, type ReadingOptions, withReadingOptions } from './reading-options.ts';

type RolloutOptions = ReadingOptions & { readonly attempt?: string; readonly events?: string };

export function addRolloutCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('rollout')
    .description('what happened to one rollout, call by call, with blame')
    .argument('<id>', 'the rollout’s id (trace_id)')
    .option('--run <run>', 'its run (default: every run is looked through)')
    .option('--attempt <number>', 'which attempt (default: the newest)')
    .option('--events <file>', eventsHelp);
  withReadingOptions(command).action(async (id: string, options: RolloutOptions) => {
    const wanted = anyTenant(options.run === undefined ? null : runId(options.run), rolloutId(id));
    const log = await readLog(options, wanted, process.env, tellingStories);
    const found = await lookUp(questionOf(id, options), options, process.env, async () => log.told);
    const story = withLog(found, log);
    show(terminal, options.json, story, (told) => describeStory(told, terminal.width));
  });
}

const questionOf = (id: string, options: RolloutOptions) => ({
  ofFleet: (client: HttpClient) => storyOfFleet(client, id, options),
  ofLog: (stories: readonly RolloutStory[]) => newestOf(stories, id, options),
});

/** The face looks an id up in one run only, so without a run they are tried one after another, the newest last named. */
async function storyOfFleet(client: HttpClient, id: string, options: RolloutOptions): Promise<RolloutStory> {
  const runs = options.run === undefined ? await runsOf(client) : [options.run];
  for (const run of runs) {
    const answer = await tryRun(client, id, run, options);
    if (answer !== null) return storyOfAnswer(answer);
  }
  throw new NotKnown(`the fleet knows no rollout ${id}`, 'yours', 'check the id, and the run with --run');
}

async function runsOf(client: HttpClient): Promise<readonly string[]> {
  return (await askNative(client, { method: 'GET', path: '/v1/runs' }, RunsAnswer)).runs;
}

async function tryRun(client: HttpClient, id: string, run: string, { attempt }: RolloutOptions) {
  const query = attempt === undefined ? '' : `?attempt=${encodeURIComponent(attempt)}`;
  const path = `/v1/rollouts/${encodeURIComponent(id)}${query}`;
  try {
    return await askNative(client, { method: 'GET', path, run }, RolloutAnswer);
  } catch (error) {
    if (error instanceof NotKnown) return null;
    throw error;
  }
}

function newestOf(
  stories: readonly RolloutStory[],
  id: string,
  { run, attempt }: RolloutOptions,
): RolloutStory | null {
  const found = stories
    .filter((story) => story.rolloutId === id)
    .filter((story) => run === undefined || story.run === run)
    .filter((story) => attempt === undefined || story.attempt === Number(attempt));
  return found.toSorted((a, b) => b.attempt - a.attempt)[0] ?? null;
}
