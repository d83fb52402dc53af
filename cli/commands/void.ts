import type { Command } from 'commander';
import { RolloutAnswer } from '#src/protocol/native/rollouts.ts';
import { VoidItemAnswer } from '#src/protocol/native/runs.ts';
import { CommandError } from '../command-error.ts';
import { connectionToFleet } from '../gateway/connection.ts';
import { askNative, createHttpClient, type HttpClient } from '../gateway/http-client.ts';
import { score } from '../print/amounts.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { type ReadingOptions, withReadingOptions } from './options.ts';

type VoidOptions = ReadingOptions & {
  readonly item?: string;
  readonly attempt?: string;
  readonly reason: string;
};

/** What voiding did, in rollouts. */
type VoidReport = { readonly discarded: number; readonly scored: number; readonly unchanged: number };

export function addVoidCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('void')
    .description('exclude a rollout, or all rollouts of an item, from their run')
    .argument('[rollout]', 'the rollout’s id (trace_id)')
    .option('--item <item>', 'all rollouts of this item in the run: the id of its dataset row, or its group')
    .option('--run <run>', 'the run')
    .option('--attempt <number>', 'which attempt of the rollout (default: the newest)')
    .requiredOption('--reason <text>', 'why: kept with each rollout, and in the event log')
    .addHelpText(
      'after',
      '\nA rollout without a score is discarded (voided, blame caller) and closed. A score stays as the trainer got it; reports,\nmeans, “corral study” and “corral regrade” leave it out. Rollouts that open later are not voided.',
    );
  withReadingOptions(command).action(async (rollout: string | undefined, options: VoidOptions) => {
    const wanted = wantedOf(rollout, options);
    const client = createHttpClient(connectionToFleet(options, process.env));
    try {
      const report =
        'item' in wanted
          ? await voidItem(client, wanted, options.reason)
          : await voidRollout(client, wanted.rollout, options);
      show(terminal, options.json, report, describeVoid);
    } finally {
      await client.close();
    }
  });
}

type Wanted = { readonly rollout: string } | { readonly item: string; readonly run: string };

function wantedOf(rollout: string | undefined, { item, run }: VoidOptions): Wanted {
  if (rollout !== undefined && item === undefined) return { rollout };
  if (rollout === undefined && item !== undefined && run !== undefined) return { item, run };
  const next = 'give a rollout, or --item and --run';
  throw new CommandError('it is not clear which rollouts to void', 'yours', next);
}

type OneVoided = { readonly rollout: string; readonly verdict: string; readonly score: number | null };

async function voidRollout(
  client: HttpClient,
  rollout: string,
  { attempt, reason }: VoidOptions,
): Promise<OneVoided> {
  const query = attempt === undefined ? '' : `?attempt=${encodeURIComponent(attempt)}`;
  const path = `/v1/rollouts/${encodeURIComponent(rollout)}/void${query}`;
  const answer = await askNative(client, { method: 'POST', path, body: { reason } }, RolloutAnswer);
  const { verdict, voided_at: voidedAt } = answer;
  const word = verdict.kind === 'discard' ? `discard: ${verdict.code}` : 'scorable';
  return {
    rollout,
    verdict: voidedAt === null ? word : `${word}, voided`,
    score: answer.score,
  };
}

/** Pages are short, so that no other request waits for one. */
async function voidItem(
  client: HttpClient,
  { run, item }: { readonly run: string; readonly item: string },
  reason: string,
): Promise<VoidReport> {
  const path = `/v1/runs/${encodeURIComponent(run)}/void`;
  const sum = { discarded: 0, scored: 0, unchanged: 0 };
  let cursor: string | null = null;
  do {
    const body = { item, reason, ...(cursor !== null && { cursor }) };
    const page: Awaited<ReturnType<typeof askPage>> = await askPage(client, path, body);
    for (const count of ['discarded', 'scored', 'unchanged'] as const) sum[count] += page[count];
    cursor = page.cursor;
  } while (cursor !== null);
  if (sum.discarded + sum.scored + sum.unchanged > 0) return sum;
  const next = 'the run’s items are the "groups" of GET /v1/runs/RUN';
  throw new CommandError(`the run ${run} has no rollout of the item ${item}`, 'yours', next);
}

const askPage = (client: HttpClient, path: string, body: object) =>
  askNative(client, { method: 'POST', path, body }, VoidItemAnswer);

function describeVoid(report: VoidReport | OneVoided): string {
  if ('rollout' in report) return `${report.rollout}: ${report.verdict}, score ${score(report.score)}`;
  const { discarded, scored, unchanged } = report;
  return `${discarded} discarded, ${scored} scores left out, ${unchanged} unchanged`;
}
