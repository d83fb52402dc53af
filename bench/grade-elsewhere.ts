import { request } from 'undici';
import type { RunningFleet } from '#cli/fleet/start-fleet.ts';
import { atMost, type Benchmark, quantile } from './figures.ts';
import { createBenchClient, startFleetFor } from './fleet.ts';

const usualRollouts = 24;
const warmUp = 2;
/** As the environments say. */
const keptReady = 3;

/**
 * What a sandbox of its own adds to a grade, where one is ready, beside what a rollout's first call pays for its own (claim, bind
 * and the connection) and what copying takes, measured on the same sandboxes as an archive out and one in. Copying is not taken
 * off: asked for from outside it takes longer than the gateway's own, and what is left would be less than nothing. Whoever else
 * uses the machine only ever adds, so each is its fast quarter. Before each rollout it waits until all three pools are full
 * again, some seconds on a busy machine.
 */
export const gradeElsewhere: Benchmark = {
  name: 'grade-elsewhere',
  run: async (say, runs) => {
    const rollouts = warmUp + (runs ?? usualRollouts);
    say('starting a fleet');
    await using bench = await startFleetFor('bench/grade-elsewhere/environments');
    const times = {
      first: [] as number[],
      later: [] as number[],
      same: [] as number[],
      fresh: [] as number[],
      copy: [] as number[],
    };
    say(`${rollouts} rollouts, graded in their own sandbox and in another in turns`);
    for (let index = 0; index < rollouts; index += 1) {
      const [same, fresh] = await inTurn(index, [
        () => play(bench.fleet, 'grade-same', `same-${index}`),
        () => play(bench.fleet, 'grade-fresh', `fresh-${index}`),
      ]);
      if (index < warmUp) continue;
      times.first.push(same.firstMs, fresh.firstMs);
      times.later.push(same.laterMs, fresh.laterMs);
      times.same.push(same.gradeMs);
      times.fresh.push(fresh.gradeMs);
      times.copy.push(same.copyMs, fresh.copyMs);
    }
    const copied = fast(times.copy);
    const added = fast(times.fresh) - fast(times.same);
    const claimed = fast(times.first) - fast(times.later);
    say(
      `a grade takes ${shown(fast(times.same))} there and ${shown(fast(times.fresh))} elsewhere; a warm claim ${shown(claimed)}, copying ${shown(copied)}`,
    );
    const what = 'added to a grade by a sandbox of its own, beside a warm claim and copying';
    return [atMost({ what, unit: 'ms', value: added, floor: claimed + copied }, 1.5)];
  },
};

const shown = (timeMs: number) => `${timeMs.toFixed(0)} ms`;
const fast = (timesMs: readonly number[]) => quantile(timesMs, 0.25);

type Played = Readonly<Record<'firstMs' | 'laterMs' | 'copyMs' | 'gradeMs', number>>;

/** Now the one first and now the other. */
async function inTurn(index: number, [one, other]: readonly [() => Promise<Played>, () => Promise<Played>]) {
  if (index % 2 === 0) return [await one(), await other()] as const;
  const second = await other();
  return [await one(), second] as const;
}

async function play(fleet: RunningFleet, environment: string, rollout: string): Promise<Played> {
  const client = createBenchClient(fleet, environment);
  const headers = { authorization: `Bearer ${fleet.apiKey}`, 'content-type': 'application/json' };
  const archive = `${fleet.gatewayUrl}/v1/rollouts/${rollout}/archive?path=out`;
  try {
    // Of both environments, and of graders: nothing starts beside what is measured.
    await client.warm(keptReady);
    const firstMs = await timed(() => client.call(rollout, 'first', 'mkdir out; echo 1 > out/said'));
    const laterMs = await timed(() => client.call(rollout, 'later', 'mkdir -p out; echo 1 > out/said'));
    let tar = Buffer.alloc(0);
    const outMs = await timed(async () => {
      const answer = await request(archive, { headers });
      tar = Buffer.from(await answer.body.arrayBuffer());
    });
    const inMs = await timed(async () => {
      const answer = await request(archive, { method: 'PUT', headers, body: tar });
      await answer.body.text();
    });
    const body = JSON.stringify({
      sample: { output_text: 'done', output_tools: [] },
      item: null,
      trace_id: rollout,
    });
    const gradeMs = await timed(async () => {
      const answer = await request(`${fleet.gatewayUrl}/rft/${environment}/grade`, {
        method: 'POST',
        headers,
        body,
      });
      const said = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${said}`);
    });
    return { firstMs, laterMs, copyMs: outMs + inMs, gradeMs };
  } finally {
    await client.close();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
