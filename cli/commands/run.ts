import type { Command } from 'commander';
import { runId } from '#src/model/ids.ts';
import { RunAnswer } from '#src/protocol/native/runs.ts';
import type { HttpClient } from '../gateway/http-client.ts';
import { askNative } from '../gateway/native-client.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { describeRun, runStoryOfAnswer, runStoryOfOutlines } from '../stories/run-story.ts';
import { lookUp } from '../stories/look-up.ts';
import type { Outline } from '../stories/outlines.ts';
import { anyTenant, outlining, readLog } from '../stories/read-log.ts';
import { eventsHelp, type ReadingOptions, withReadingOptions } from './reading-options.ts';

export function addRunCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('run')
    .description('one training job: what its discards cost each wave, and which commands are suspected')
    .argument('<run>', 'the run’s name')
    .option('--events <file>', eventsHelp);
  withReadingOptions(command).action(
    async (run: string, options: ReadingOptions & { readonly events?: string }) => {
      const log = await readLog(options, anyTenant(runId(run), null), process.env, outlining);
      const told = await lookUp(questionOf(run, log.told), options, process.env, async () => log.told);
      const story = { ...told, missing: log.missing };
      show(terminal, options.json, story, (shown) => describeRun(shown, terminal.width));
    },
  );
}

const questionOf = (run: string, logged: readonly Outline[]) => ({
  ofFleet: async (client: HttpClient) => {
    const path = `/v1/runs/${encodeURIComponent(run)}`;
    return runStoryOfAnswer(await askNative(client, { method: 'GET', path }, RunAnswer), logged);
  },
  ofLog: (outlines: readonly Outline[]) => runStoryOfOutlines(run, outlines),
});
