import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { createKeptLog } from '#src/adapters/event-log/kept-log.ts';
import { createFolderStore } from '#src/adapters/object-store/folder-store.ts';
import { createTrajectoryLog } from '#src/adapters/trajectories/trajectory-log.ts';
import { callId, environmentName, rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { type RolloutKey, rolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { atMost, type Figure, median, within } from '../figures.ts';

const callsPerSecond = 111;
const callsOfRollout = 40;
const rollouts = 28;
const usualRounds = 5;
/** Of an output, as it is kept. */
const outputCharacters = 3_000;

type Keep = 'no' | 'graded' | 'all';
/** `least`: the document of each rollout is written once and packed once, without a log and a store. */
type Kind = Keep | 'least';
const kinds: readonly Kind[] = ['no', 'least', 'graded', 'all'];

/**
 * What keeping texts costs by itself, in this process: written to the folder of kept rollouts and packed into a trajectory store, at
 * the pace of a gateway with so many calls. A gateway's own processor differs more from round to round than all of this. Outputs are
 * source text, which takes as long to pack as real outputs do. Processors differ, so one figure compares it with the least
 * possible: one write and one gzip member of the same bytes.
 */
export async function keepingCost(
  say: (line: string) => void,
  runs: number | null,
): Promise<readonly Figure[]> {
  const texts = sourceTexts();
  const costs: Costs = { no: [], least: [], graded: [], all: [] };
  // The first is for what is compiled once.
  for (let round = 0; round < 1 + (runs ?? usualRounds); round += 1)
    for (const keep of kinds) {
      const spentMs = await (keep === 'least' ? playLeast(texts) : play(keep, texts));
      say(`keeping, round ${round}, keep: ${keep}: ${spentMs.toFixed(0)} ms`);
      const share = (100 * spentMs * callsPerSecond) / (1_000 * rollouts * callsOfRollout);
      if (round > 0) costs[keep].push(share);
    }
  return [added('graded', 1, costs), added('all', 3, costs), againstLeast(costs)];
}

type Costs = Record<Kind, number[]>;

/** Over what is spent without any of it. */
const over = (kind: Kind, costs: Costs): number =>
  Math.max(0, median(costs[kind].map((cost, round) => cost - (costs.no[round] ?? Number.NaN))));

function againstLeast(costs: Costs): Figure {
  const what = 'keep: graded: keeping texts alone, against one write and one gzip member of the same bytes';
  return atMost({ what, unit: '%', value: over('graded', costs), floor: over('least', costs) }, 1.75);
}

function added(keep: Keep, most: number, costs: Costs): Figure {
  const what = `keep: ${keep}: keeping texts alone, of a core at ${callsPerSecond} calls a second`;
  return within({ what, unit: '%', value: over(keep, costs), floor: most });
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
      keepOne(kept, keep, keyOf(at), textsOf(at, texts));
      await sleep((1_000 * callsOfRollout) / callsPerSecond);
    }
    await Promise.all([kept.flush(), trajectories.flush()]);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const pack = promisify(gzip);

/** As {@link play}: members are packed when segments are closed, all at the end. */
async function playLeast(texts: readonly string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-bench-least-'));
  try {
    const before = process.cpuUsage();
    const written: Buffer[] = [];
    for (let at = 0; at < rollouts; at += 1) {
      const bytes = Buffer.from(documentOf(keyOf(at), callsOf(textsOf(at, texts))));
      await writeDurably(join(folder, 'lines'), bytes);
      written.push(bytes);
      await sleep((1_000 * callsOfRollout) / callsPerSecond);
    }
    const members = [];
    for (const bytes of written) members.push(await pack(bytes, { level: 4 }));
    await writeDurably(join(folder, 'segment'), Buffer.concat(members));
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeDurably(path: string, bytes: Buffer): Promise<void> {
  await using file = await open(path, 'a', 0o600);
  await file.appendFile(bytes);
  await file.datasync();
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
  const calls = callsOf(texts);
  // Graders read the document, whatever is kept of it.
  const document = documentOf(key, calls);
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

const textsOf = (at: number, texts: readonly string[]): readonly string[] =>
  texts.slice((at * callsOfRollout) % (texts.length - callsOfRollout)).slice(0, callsOfRollout);

const callsOf = (texts: readonly string[]) => texts.map((output, at) => callOf(output, at));

const documentOf = (key: RolloutKey, calls: readonly ReturnType<typeof callOf>[]): string =>
  JSON.stringify({ rollout: key, sample: {}, calls, missing: { arguments: 0, outputs: 0 } });

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
