import type { Command } from 'commander';
import { ownerOf } from '#src/model/rollout.ts';
import { KeyAnswer } from '#src/protocol/native/key.ts';
import { RunAnswer, RunsAnswer } from '#src/protocol/native/runs.ts';
import { askNative, type HttpClient, NotKnown } from '../gateway/http-client.ts';
import { table } from '../print/table.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { lookUp } from '../stories/look-up.ts';
import type { OfRun } from '../stories/one-tenant.ts';
import { type Outline, type RunLine, runLineOfAnswer, runLinesOfOutlines } from '../stories/outlines.ts';
import { outlinesInFolder } from '../stories/read-log.ts';
import { readRunLog } from '../stories/run-findings.ts';
import { describeCodes, describeRun, runStoryOfAnswer, runStoryOfOutlines } from '../stories/run-story.ts';
import { eventsHelp, type ReadingOptions, tenantHelp, withReadingOptions } from './options.ts';

export function addRunsCommand(program: Command, terminal: Terminal): void {
  const command = program.command('runs').description('list training jobs with counts, discards and reasons');
  withReadingOptions(command).action(async (options: ReadingOptions) => {
    const runs = await lookUp({ ofFleet: runsOfFleet, ofLog: runsInLog }, options, process.env, () =>
      outlinesInFolder(options, terminal),
    );
    show(terminal, options.json, runs, (lines) => describeRuns(lines, terminal.width));
  });
}

const runsInLog = (outlines: readonly Outline[]) =>
  outlines.length === 0 ? null : runLinesOfOutlines(outlines);

async function runsOfFleet(client: HttpClient): Promise<readonly RunLine[]> {
  const { runs } = await askNative(client, { method: 'GET', path: '/v1/runs' }, RunsAnswer);
  const lines: RunLine[] = [];
  for (const run of runs) {
    const path = `/v1/runs/${encodeURIComponent(run)}`;
    lines.push(runLineOfAnswer(await askNative(client, { method: 'GET', path }, RunAnswer)));
  }
  return lines;
}

function describeRuns(runs: readonly RunLine[], width: number): string {
  if (runs.length === 0) return 'no run yet: a run begins with its first rollout';
  const columns = [
    { title: 'run', of: (line: RunLine) => line.run },
    { title: 'state', of: (line: RunLine) => line.state ?? line.source },
    { title: 'rollouts', of: (line: RunLine) => String(line.rollouts), right: true },
    { title: 'open', of: (line: RunLine) => String(line.open ?? '–'), right: true },
    { title: 'scored', of: (line: RunLine) => String(line.scored), right: true },
    { title: 'discarded', of: (line: RunLine) => String(line.discarded), right: true },
    { title: 'failures', of: ({ codes }: RunLine) => describeCodes(codes) },
  ];
  return table(runs, columns, width);
}

export function addRunCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('run')
    .description(
      'one training job: what to look at, what its discards cost each wave, and suspected commands',
    )
    .argument('<run>', 'the run’s name')
    .option('--events <file>', eventsHelp)
    .option('--tenant <name>', tenantHelp);
  withReadingOptions(command).action(async (run: string, options: RunOptions) => {
    const ofRun = { run, tenant: options.tenant };
    const { outlines, findings, missing } = await readRunLog(options, ofRun, process.env);
    const question = questionOf(ofRun, options, outlines);
    const runStory = await lookUp(question, options, process.env, async () => outlines);
    const story = { ...runStory, findings, missing };
    show(terminal, options.json, story, (shown) => describeRun(shown, terminal.width));
  });
}

type RunOptions = ReadingOptions & { readonly events?: string; readonly tenant?: string };

const questionOf = ({ run, tenant }: OfRun, { events }: RunOptions, logged: readonly Outline[]) => ({
  ofFleet: async (client: HttpClient) => {
    // What a gateway tells is of its key's tenant; what is read elsewhere may be of another.
    const [first] = events === undefined ? [] : logged;
    const whose = tenant ?? (first === undefined ? undefined : ownerOf(first.key).tenant);
    if (whose !== undefined) await requireTenant(client, whose);
    const path = `/v1/runs/${encodeURIComponent(run)}`;
    return runStoryOfAnswer(await askNative(client, { method: 'GET', path }, RunAnswer), logged);
  },
  ofLog: (outlines: readonly Outline[]) => runStoryOfOutlines(run, outlines),
});

async function requireTenant(client: HttpClient, wanted: string): Promise<void> {
  const { key, tenant } = await askNative(client, { method: 'GET', path: '/v1/key' }, KeyAnswer);
  if (tenant === wanted) return;
  const next = `use a key of ${wanted}, or read a saved log with --events`;
  throw new NotKnown(`the key ${key} reads runs of the tenant ${tenant} only`, 'yours', next);
}
