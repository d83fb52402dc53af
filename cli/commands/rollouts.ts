import { type Command, Option } from 'commander';
import type { Static } from 'typebox';
import { failureCodes } from '#src/failure/codes.ts';
import { rolloutId, runId } from '#src/model/ids.ts';
import { RolloutAnswer } from '#src/protocol/native/rollouts.ts';
import { RolloutsAnswer, RunsAnswer } from '#src/protocol/native/runs.ts';
import type { RolloutStory } from '#src/reports/rollout-story.ts';
import { askNative, type HttpClient, NotKnown } from '../gateway/http-client.ts';
import { score } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { describeTexts, readStoryTexts } from '../stories/call-texts.ts';
import { openKept } from '../stories/kept-source.ts';
import { describeStory } from '../stories/describe-story.ts';
import { lookUp } from '../stories/look-up.ts';
import {
  type Outline,
  type RolloutSummary,
  summaryOfLine,
  summaryOfOutline,
  withEnded,
} from '../stories/outlines.ts';
import { anyTenant, outlinesInFolder, outlining, readLog, tellingStories } from '../stories/read-log.ts';
import { storyOfAnswer, withLog } from '../stories/rollout-sources.ts';
import { eventsHelp, storeHelp, type ReadingOptions, withReadingOptions } from './options.ts';

type RolloutsOptions = ReadingOptions & {
  readonly verdict?: 'scorable' | 'discard';
  readonly code?: string;
  readonly limit: string;
};

/** More than a screen, less than a flood; `--limit` takes more. */
const defaultLimit = '200';

export function addRolloutsCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('rollouts')
    .description('list rollouts, and why they were discarded')
    .option('--run <run>', 'only of this run (default: all)')
    .addOption(new Option('--verdict <verdict>', 'only this verdict').choices(['scorable', 'discard']))
    .addOption(new Option('--code <code>', 'only discards with this code').choices(failureCodes))
    .option('--limit <count>', 'maximum number of rollouts', defaultLimit);
  withReadingOptions(command).action(async (options: RolloutsOptions) => {
    const outlines = await outlinesOf(options, terminal);
    const found = await lookUp(listQuestion(options, outlines), options, process.env, async () => outlines);
    show(terminal, options.json, found, (rollouts) => describeRollouts(rollouts, terminal.width));
  });
}

/** Of a run that is named, what its fleet logged; of all runs that would be too much to ask for, and only this machine's log is read. */
async function outlinesOf(options: RolloutsOptions, terminal: Terminal): Promise<readonly Outline[]> {
  if (options.run === undefined) return outlinesInFolder(options, terminal);
  const wanted = anyTenant(runId(options.run), null);
  const { told, missing } = await readLog(options, wanted, process.env, outlining);
  for (const { keeper, why } of missing) terminal.remark(`${keeper}: ${why}`);
  return told;
}

const listQuestion = (options: RolloutsOptions, logged: readonly Outline[]) => ({
  ofFleet: async (client: HttpClient) => {
    const known = await rolloutsOfFleet(client, options);
    return withEnded(known, summariesOf(logged, options)).slice(0, Number(options.limit));
  },
  ofLog: (outlines: readonly Outline[]) =>
    outlines.length === 0 ? null : summariesOf(outlines, options).slice(0, Number(options.limit)),
});

function summariesOf(outlines: readonly Outline[], options: RolloutsOptions): readonly RolloutSummary[] {
  return outlines.map(summaryOfOutline).filter((rollout) => matches(rollout, options));
}

async function rolloutsOfFleet(client: HttpClient, options: RolloutsOptions): Promise<RolloutSummary[]> {
  const limit = Number(options.limit);
  const runs = options.run === undefined ? await allRuns(client) : [options.run];
  const found: RolloutSummary[] = [];
  for (const run of runs) {
    for await (const page of pagesOf(client, run, options)) {
      found.push(...page);
      if (found.length >= limit) return found.slice(0, limit);
    }
  }
  return found;
}

async function allRuns(client: HttpClient): Promise<readonly string[]> {
  return (await askNative(client, { method: 'GET', path: '/v1/runs' }, RunsAnswer)).runs;
}

type Page = Static<typeof RolloutsAnswer>;

async function* pagesOf(client: HttpClient, run: string, { verdict, code }: RolloutsOptions) {
  let cursor: string | null = null;
  do {
    const given = { ...(verdict && { verdict }), ...(code && { code }), ...(cursor && { cursor }) };
    const path = `/v1/runs/${encodeURIComponent(run)}/rollouts?${new URLSearchParams(given).toString()}`;
    const page: Page = await askNative(client, { method: 'GET', path }, RolloutsAnswer);
    yield page.rollouts.map(summaryOfLine);
    cursor = page.cursor;
  } while (cursor !== null);
}

function matches(rollout: RolloutSummary, { run, verdict, code }: RolloutsOptions): boolean {
  const wanted = { run, verdict, code };
  return (['run', 'verdict', 'code'] as const).every(
    (field) => wanted[field] === undefined || rollout[field] === wanted[field],
  );
}

function describeRollouts(rollouts: readonly RolloutSummary[], width: number): string {
  if (rollouts.length === 0) return 'no such rollout';
  const columns = [
    { title: 'rollout', of: (line: RolloutSummary) => line.rolloutId },
    { title: 'run', of: (line: RolloutSummary) => line.run },
    { title: 'environment', of: (line: RolloutSummary) => line.environment },
    { title: 'state', of: (line: RolloutSummary) => line.state ?? line.source },
    { title: 'calls', of: (line: RolloutSummary) => String(line.calls), right: true },
    { title: 'score', of: (line: RolloutSummary) => score(line.score), right: true },
    { title: 'verdict', of: describeVerdict },
  ];
  return table(rollouts, columns, width);
}

function describeVerdict({ verdict, code, cause, voided }: RolloutSummary): string {
  if (code === null) return `${verdict ?? '–'}${voided ? ', voided' : ''}`;
  return `discard: ${code}${cause === null ? '' : ` (${cause})`}`;
}

type RolloutOptions = ReadingOptions & {
  readonly attempt?: string;
  readonly events?: string;
  readonly texts: boolean;
  readonly kept?: string;
  readonly store?: string;
};

export function addRolloutCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('rollout')
    .description('what happened to one rollout, call by call, with blame')
    .argument('<id>', 'the rollout’s id (trace_id)')
    .option('--run <run>', 'its run (default: all runs are searched)')
    .option('--attempt <number>', 'which attempt (default: the newest)')
    .option('--events <file>', eventsHelp)
    .option('--texts', 'also print what its calls asked and returned, if its environment has keep', false)
    .option('--kept <folder>', 'folder of these texts (default: that of the fleet on this machine)')
    .option('--store <place>', storeHelp);
  withReadingOptions(command).action(async (id: string, options: RolloutOptions) => {
    const wanted = anyTenant(options.run === undefined ? null : runId(options.run), rolloutId(id));
    const log = await readLog(options, wanted, process.env, tellingStories);
    const found = await lookUp(storyQuestion(id, options), options, process.env, async () => log.told);
    const story = withLog(found, log);
    if (!options.texts) {
      show(terminal, options.json, story, (shown) => describeStory(shown, terminal.width));
      return;
    }
    const texts = await readStoryTexts(story, openKept(options, process.env));
    show(
      terminal,
      options.json,
      { ...story, texts },
      (shown) => `${describeStory(shown, terminal.width)}\n${describeTexts(shown.texts)}`,
    );
  });
}

const storyQuestion = (id: string, options: RolloutOptions) => ({
  ofFleet: async (client: HttpClient) => storyOfAnswer((await findRollout(client, id, options)).answer),
  ofLog: (stories: readonly RolloutStory[]) => newestOf(stories, id, options),
});

/** The face looks an id up in one run only, so without a run they are tried one after another, the newest last named. */
export async function findRollout(client: HttpClient, id: string, options: NamedRollout) {
  const runs = options.run === undefined ? await allRuns(client) : [options.run];
  for (const run of runs) {
    const answer = await tryRun(client, id, run, options);
    if (answer !== null) return { run, answer };
  }
  throw new NotKnown(`the fleet knows no rollout ${id}`, 'yours', 'check the id, and the run with --run');
}

type NamedRollout = { readonly run?: string; readonly attempt?: string };

async function tryRun(client: HttpClient, id: string, run: string, { attempt }: NamedRollout) {
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
