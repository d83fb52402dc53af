import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CorralError, Discarded, type Rollout, Unavailable } from '#clients/typescript/src/index.ts';
import { Chance } from '#test/simulation/engine/chance.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { partPid } from '#test/support/parts-of-fleet.ts';
import { append, environments, trainerOn } from './trainer.ts';

/*
 * Four rollouts of one task that append lines to a file; their reward is the number of its lines. So a false zero, a command that
 * ran twice, and a command that was lost with its sandbox show as a wrong number.
 */

let corral: FleetOfTest;
beforeAll(async () => void (corral = await startFleetOfTest({ environments })));
afterAll(() => corral.stop());
const { open, view, killSandbox, inFlight } = trainerOn(() => corral);

type Play = (rollout: Rollout, times: number) => Promise<number>;

const play: Play = async (rollout, times) => {
  await append(rollout, times);
  return (await rollout.grade()).score;
};

/** The trainer grades. */
const playOwn: Play = async (rollout, times) => {
  await append(rollout, times);
  await rollout.score(times);
  return times;
};

/** The reward as a trainer sees it: a rollout that threw has none. */
async function rewardOf(environment: string, times: number, how: Play): Promise<number | null> {
  await using rollout = open(environment, { item: { id: `${environment}-task` } });
  // Awaited here, because the rollout is finished with this block.
  return await how(rollout, times).catch((error: unknown) => {
    if (error instanceof Discarded || error instanceof Unavailable) return null;
    throw error;
  });
}

type Moment = {
  readonly when: string;
  readonly fourth: Play;
  readonly rewards: readonly (number | null)[];
  readonly environment?: string;
  readonly others?: Play;
};

const lost = [1, 3, 2, null];

const moments: readonly Moment[] = [
  {
    when: 'before its first command: it is replaced',
    rewards: [1, 3, 2, 4],
    fourth: async (rollout, times) => {
      await rollout.open();
      const sandbox = async () =>
        ((await view(rollout.rolloutId))['epoch'] as { sandbox: string } | null)?.sandbox ?? null;
      await expect.poll(sandbox).not.toBeNull();
      const first = await sandbox();
      await killSandbox(rollout);
      await expect.poll(sandbox).not.toBe(first);
      return play(rollout, times);
    },
  },
  {
    when: 'in a command, and its code goes on to grade',
    rewards: lost,
    fourth: async (rollout, times) => {
      await append(rollout, times);
      const call = rollout.exec('sleep 60', { timeoutS: 90 });
      const failed = expect(call).rejects.toMatchObject({
        name: 'Discarded',
        code: 'sandbox_lost',
        tainted: true,
      });
      await inFlight(rollout);
      await killSandbox(rollout);
      await failed;
      return (await rollout.grade()).score;
    },
  },
  {
    when: 'between two commands',
    rewards: lost,
    fourth: async (rollout, times) => {
      await append(rollout, times - 2);
      await killSandbox(rollout);
      await append(rollout, 2);
      return (await rollout.grade()).score;
    },
  },
  {
    when: 'between its last command and its grade',
    rewards: lost,
    fourth: async (rollout, times) => {
      await append(rollout, times);
      await killSandbox(rollout);
      return (await rollout.grade()).score;
    },
  },
  {
    when: 'while it is graded',
    rewards: lost,
    environment: 'slow-grader',
    fourth: async (rollout, times) => {
      await append(rollout, times);
      const score = rollout.grade().then((grade) => grade.score);
      score.catch(() => undefined);
      await expect.poll(() => view(rollout.rolloutId)).toMatchObject({ state: 'grading' });
      await killSandbox(rollout);
      return score;
    },
  },
  {
    when: 'before the score that the trainer brings',
    rewards: lost,
    environment: 'own-score',
    others: playOwn,
    fourth: async (rollout, times) => {
      await append(rollout, times);
      await killSandbox(rollout);
      await rollout.score(times);
      return times;
    },
  },
];

describe('of four rollouts, one of which loses its sandbox', () => {
  it.each(moments)('$when: the rewards are $rewards', async (moment) => {
    const { fourth, rewards, environment = 'counting', others = play } = moment;
    const played = [
      ...[1, 3, 2].map((times) => rewardOf(environment, times, others)),
      rewardOf(environment, 4, fourth),
    ];
    expect(await Promise.all(played)).toEqual(rewards);
  });
});

/** A line too few or too many makes the number of no other rollout. */
const faultyTimes = [1, 4, 7, 10];
const stallMs = 3_000;
const kinds = ['sandbox', 'gateway', 'stall'] as const;

/** Between the first command and the last grade; resolves when the fleet is whole again. */
async function strike(kind: (typeof kinds)[number], rollouts: ReadonlySet<string>, chance: Chance) {
  if (kind === 'gateway') return corral.killPart('gateway');
  if (kind === 'stall') {
    const pid = partPid(corral.fleet.stateDir, 'gateway');
    process.kill(pid, 'SIGSTOP');
    await pause(stallMs);
    process.kill(pid, 'SIGCONT');
    return;
  }
  const held = (await corral.fleet.sandboxes()).filter(({ owner }) => rollouts.has(owner?.rollout ?? ''));
  if (held.length > 0) process.kill(chance.pick(held).pid, 'SIGKILL');
}

const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

/** Faults by chance take minutes: `npm run test:clients -- --all` plays them. */
const seeds = process.env['CORRAL_SEEDS'] === undefined ? [] : Array.from({ length: 20 }, (_, at) => at + 1);

it.each(seeds)('faults by chance (seed %i) make no false zero and run nothing twice', async (seed) => {
  const chance = new Chance(`faults ${seed}`);
  const rollouts = faultyTimes.map((times) => ({
    times,
    rollout: open('faulty', { item: { id: `seed-${seed}` } }),
  }));
  const ids = new Set(rollouts.map(({ rollout }) => rollout.rolloutId));
  const playing = rollouts.map(async ({ times, rollout }) => {
    await using played = rollout;
    await append(played, times, 'sleep 0.2; echo x >> calls').catch(unlessLost);
    return await played.grade().then(({ score }) => score, unlessLost);
  });
  const all = Promise.all(playing);
  for (let left = chance.between(1, 3); left > 0; left -= 1) {
    await pause(chance.between(100, 1_500));
    await strike(chance.pick(kinds), ids, chance);
  }
  expect((await all).map((reward, at) => reward ?? faultyTimes[at])).toEqual(faultyTimes);
});

/** Code that swallows the first failure goes on to its grade. */
function unlessLost(error: unknown): null {
  if (error instanceof CorralError && (error instanceof Discarded || error instanceof Unavailable))
    return null;
  throw error;
}
