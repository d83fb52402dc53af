import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, type Figure, median, quantile, within } from '../figures.ts';
import { startPlayedProcesses } from '../played-processes.ts';
import { watchRun } from './console-page.ts';
import { Trainer } from './trainer.ts';

/** 500 rollouts of 40 calls in each step of three minutes. */
const callsPerSecond = 111;
const windowMs = 15_000;
/** What is kept leaves in segments of ten seconds; its cost belongs to the calls that it is of. */
const untilStoredMs = 11_500;
const usualRounds = 5;
/** As calls have on average: console.md of a run measured 3.3 KB kept a call. */
const outputBytes = 3_000;

type Keep = 'no' | 'graded' | 'all';
const kinds: readonly Keep[] = ['no', 'graded', 'all'];

/**
 * What a gateway's processor has to do more for a console: keep texts in a trajectory store, and hand out its log to a console
 * that follows the run. Sandboxes are played; Redis, controller, gateway and console are processes of their own. Three
 * environments take turns on one gateway, without texts and console, and with both.
 */
export async function gatewayCost(
  say: (line: string) => void,
  runs: number | null,
): Promise<readonly Figure[]> {
  const store = await mkdtemp(join(tmpdir(), 'corral-bench-store-'));
  try {
    await using played = await startPlayedProcesses({
      environmentsDir: join(import.meta.dirname, 'environments'),
      pool: {},
      gatewayEnv: { CORRAL_TRAJECTORIES: store },
      outputBytes,
      say,
    });
    await played.begin('controller', 'gateway');
    const url = await played.beginConsole();
    const trainer = new Trainer(played);
    const costs: Record<Keep, number[]> = { no: [], graded: [], all: [] };
    const times: Record<Keep, number[]> = { no: [], graded: [], all: [] };
    const rounds = 1 + (runs ?? usualRounds);
    for (let round = 0; round < rounds; round += 1) {
      for (const keep of turned(kinds, round)) {
        const run = `run-${keep}-${round}`;
        const before = (await played.spent()).gateway;
        const watched = keep === 'no' ? null : watchRun(url, played.apiKey, run);
        const tookMs = await trainer.play({ environment: `keep-${keep}`, run, callsPerSecond, windowMs });
        await sleep(untilStoredMs);
        await watched?.stop();
        const spentMs = (await played.spent()).gateway - before;
        say(`round ${round}, keep: ${keep}: ${spentMs.toFixed(0)} ms for ${tookMs.length} calls`);
        // The first is for what is compiled and connected once.
        if (round === 0) continue;
        costs[keep].push((100 * (spentMs / tookMs.length) * callsPerSecond) / 1_000);
        times[keep].push(...tookMs);
      }
    }
    await trainer.close();
    return [added('graded', 1, costs), added('all', 3, costs), slower('graded', times), slower('all', times)];
  } finally {
    await rm(store, { recursive: true, force: true });
  }
}

/** Each is first and last in turn: who comes later finds what the others have left. */
const turned = <Each>(list: readonly Each[], by: number): readonly Each[] => {
  const from = by % list.length;
  return [...list.slice(from), ...list.slice(0, from)];
};

function added(keep: Keep, most: number, costs: Readonly<Record<Keep, readonly number[]>>): Figure {
  const each = costs[keep].map((cost, round) => cost - (costs.no[round] ?? Number.NaN));
  const of = `of a core at ${callsPerSecond} calls a second (${median(costs.no).toFixed(1)} % without)`;
  const what = `keep: ${keep} and a console that follows: a gateway's share ${of} rises by`;
  return within({ what, unit: '%', value: Math.max(0, median(each)), floor: most });
}

function slower(keep: Keep, times: Readonly<Record<Keep, readonly number[]>>): Figure {
  const what = `keep: ${keep} and a console that follows: p99 of a call`;
  return atMost(
    { what, unit: 'ms', value: quantile(times[keep], 0.99), floor: quantile(times.no, 0.99) },
    1.2,
    3,
  );
}
