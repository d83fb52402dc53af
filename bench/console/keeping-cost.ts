import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKeptLog } from '#src/adapters/event-log/kept-log.ts';
import { createFolderStore } from '#src/adapters/object-store/folder-store.ts';
import { createTrajectoryLog } from '#src/adapters/trajectories/trajectory-log.ts';
import { callId, environmentName, rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { type RolloutKey, rolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { type Figure, median, within } from '../figures.ts';

const callsPerSecond = 111;
const callsOfRollout = 40;
const rollouts = 28;
const usualRounds = 5;
/** Of an output, as it is kept. */
const outputCharacters = 3_000;

type Keep = 'no' | 'graded' | 'all';
const kinds: readonly Keep[] = ['no', 'graded', 'all'];

/**
 * What keeping texts costs by itself, in this process: written to the folder of kept rollouts and packed into a trajectory store, at
 * the pace of a gateway with so many calls. A gateway's own processor differs more from round to round than all of this. Outputs are
 * source text, which takes as long to pack as real outputs do.
 */
export async function keepingCost(
  say: (line: string) => void,
  runs: number | null,
): Promise<readonly Figure[]> {
  const texts = sourceTexts();
  const costs: Record<Keep, number[]> = { no: [], graded: [], all: [] };
  // The first is for what is compiled once.
  for (let round = 0; round < 1 + (runs ?? usualRounds); round += 1)
    for (const keep of kinds) {
      const spentMs = await play(keep, texts);
      say(`keeping, round ${round}, keep: ${keep}: ${spentMs.toFixed(0)} ms`);
      const share = (100 * spentMs * callsPerSecond) / (1_000 * rollouts * callsOfRollout);
      if (round > 0) costs[keep].push(share);
    }
  return [added('graded', 1, costs), added('all', 3, costs)];
}

function added(keep: Keep, most: number, costs: Readonly<Record<Keep, readonly number[]>>): Figure {
  const value = Math.max(0, median(costs[keep].map((cost, round) => cost - (costs.no[round] ?? Number.NaN))));
  const what = `keep: ${keep}: keeping texts alone, of a core at ${callsPerSecond} calls a second`;
  return within({ what, unit: '%', value, floor: most });
}

const sourceTexts = (): readonly string[] =>
  globSync('src/**/*.ts', { cwd: join(import.meta.dirname, '../..') }).map((file) =>
    readFileSync(join(import.meta.dirname, '../..', file), 'utf8').slice(0, outputCharacters),
  );

/** Milliseconds of processor. */
async function play(keep: Keep, texts: readonly string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-bench-keeping-'));
  const log = { debug: ignore, info: ignore, warn: console.error, error: console.error };
  const world = { clock: systemClock, random: systemRandom, log, onDropped: ignore };
  const store = createFolderStore(join(folder, 'store'));
  const giveUp = new AbortController().signal;
  const trajectories = createTrajectoryLog({ ...world, store, giveUp, onWritten: ignore });
  const events = join(folder, 'events');
  const kept = createKeptLog({ ...world, folder: events, process: 'gateway', also: trajectories.add });
  try {
    const before = process.cpuUsage();
    for (let at = 0; at < rollouts; at += 1) {
      keepOne(kept, keep, keyOf(at), texts.slice((at * callsOfRollout) % (texts.length - callsOfRollout)));
      await sleep((1_000 * callsOfRollout) / callsPerSecond);
    }
    await Promise.all([kept.flush(), trajectories.flush()]);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const ignore = (): void => undefined;

const keyOf = (at: number): RolloutKey =>
  rolloutKey({
    tenant: tenantId('bench'),
    run: runId('keeping'),
    rollout: rolloutId(`rollout-${at}`),
    attempt: 1,
    role: 'policy',
  });

function keepOne(
  { keep: keepRollout, keepText }: Pick<ReturnType<typeof createKeptLog>, 'keep' | 'keepText'>,
  keep: Keep,
  key: RolloutKey,
  texts: readonly string[],
): void {
  const about = { atMs: Date.now(), key, environment: environmentName('bench'), version: 'v' };
  const calls = texts.slice(0, callsOfRollout).map((output, at) => callOf(output, at));
  // Graders read the document, whatever is kept of it.
  const document = JSON.stringify({ rollout: key, sample: {}, calls, missing: { arguments: 0, outputs: 0 } });
  if (keep === 'all')
    for (const { id, tool, arguments: asked, output } of calls) {
      const command = JSON.stringify(asked);
      const kept = { text: command, whole: command.length };
      keepText({
        ...about,
        call: callId(id),
        tool,
        arguments: kept,
        output: { text: output, whole: output.length },
      });
    }
  if (keep !== 'no')
    keepRollout({ ...about, item: null, score: 1, toolCalls: callsOfRollout, backgroundMs: 0, document });
}

const callOf = (output: string, at: number) => ({
  id: `call-${at}`,
  tool: 'shell',
  arguments: { command: `sed -n 1,80p src/${at}.ts` },
  arguments_bytes: 40,
  output,
  output_characters: output.length,
  outcome: 'completed',
  code: null,
  exit_code: 0,
  started_at_ms: at,
  ended_at_ms: at + 1,
  waited_ms: 0,
  duration_ms: 1,
  output_bytes: output.length,
});
