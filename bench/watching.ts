import type { Redis } from 'ioredis';
import type { FleetState } from '#src/adapters/redis/fleet-state.ts';
import { keysOf } from '#src/adapters/redis/keys.ts';
import { templateDigest } from '#src/model/ids.ts';
import { restAfter } from '#src/watching/fleet-sight.ts';
import { atMostInRounds, type Benchmark, inTurns, within } from './figures.ts';
import { playedClaim, playedFleet, startPlayed, withPlayedFleet } from './played-fleet.ts';

const rounds = 41;
const templates = Array.from({ length: 300 }, (_, index) => `${index}`.padStart(64, 'd'));
/** Each template has waiters of five of them, so that there are more places of runs in lines than a reading looks at. */
const runs = 30;
const waitersOfTemplate = 5;
/** What a reading looks at; see watch-store.ts. */
const places = 500;

/**
 * One look at a fleet of 300 templates in which 1,500 rollouts wait and 300 have sandboxes, as `corral top` takes one each
 * second, against the same sizes and places asked one by one, in one pipeline over the same kind of connection.
 */
export const watching: Benchmark = {
  name: 'watching',
  run: (say) =>
    withPlayedFleet(say, async ({ state, plain }) => {
      await fill(state);
      const reading = () => state.watch.read(known);
      const measured = [];
      for (let round = 0; round < rounds; round += 1) {
        measured.push(
          await inTurns(
            { value: () => tookMs(reading), floor: () => tookMs(() => askOneByOne(plain)) },
            round,
          ),
        );
      }
      const what = `one reading of ${templates.length} templates and ${waiting} waiting rollouts`;
      const costMs = await processorMs(plain, reading);
      return [
        atMostInRounds({ what, unit: 'ms', rounds: measured }, 1.5),
        within({
          what: `Redis' processor for it (${costMs.toFixed(2)} ms) while one watches`,
          unit: '%',
          value: (100 * costMs) / restAfter(costMs, 1),
          floor: 5,
        }),
      ];
    }),
};

const known = templates.map(templateDigest);
const waiting = templates.length * waitersOfTemplate;

async function tookMs(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** What Redis' own thread works for it, waiting for a processor left out. */
async function processorMs(plain: Redis, work: () => Promise<unknown>): Promise<number> {
  const workedS = async () => {
    const info = await plain.info();
    const of = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
    return of('used_cpu_user_main_thread') + of('used_cpu_sys_main_thread');
  };
  const before = await workedS();
  for (let round = 0; round < rounds; round += 1) await work();
  return ((await workedS()) - before) * (1_000 / rounds);
}

async function fill(state: FleetState): Promise<void> {
  for (const [index, template] of known.entries()) {
    await startPlayed(state, `sb-${index}`, [{ template, minReady: 1, max: 1 }]);
    for (let rollout = 0; rollout <= waitersOfTemplate; rollout += 1) {
      await state.claims.claim(claimOf(index, rollout));
    }
  }
}

/** Of each template the first gets the sandbox. */
const claimOf = (template: number, rollout: number) =>
  playedClaim(`rollout-${template}-${rollout}`, `run-${(template + rollout) % runs}`, {
    template: templateDigest(templates[template] ?? ''),
  });

/** What the reading looks at, as anybody could ask for it. */
async function askOneByOne(plain: Redis): Promise<void> {
  const keys = keysOf(playedFleet);
  const pipeline = plain.pipeline();
  for (const [index, template] of templates.entries()) {
    pipeline.zcard(keys('ready', template));
    pipeline.scard(keys('starting', template));
    pipeline.scard(keys('held', template));
    pipeline.zcount(keys('grantable', template), '-inf', '+inf');
    pipeline.hgetall(keys('prewarm', template));
    pipeline.hmget(keys('breaker', template), 'failures', 'probe', 'code', 'atMs');
    pipeline.zrange(keys('turns', template), '0', '-1');
    for (let rollout = 1; rollout <= waitersOfTemplate; rollout += 1) {
      if (index * waitersOfTemplate + rollout > places) break;
      const line = keys('line', `${template}:bench/run-${(index + rollout) % runs}`);
      pipeline.zrange(line, '0', '0', 'WITHSCORES');
      pipeline.zcard(line);
    }
  }
  await pipeline.exec();
}
