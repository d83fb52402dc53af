import { expect, test } from 'vitest';
import { seededRandom } from '#demo/seeded-random.ts';
import { rolloutId, runId, sandboxId, tenantId } from '#src/model/ids.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import type { FaultDone } from '../trainer/faults-seen.ts';
import {
  type FaultWorld,
  killCalling,
  killNode,
  killRedis,
  killUnbound,
  killWave,
  stopForSeconds,
} from './faults.ts';
import { sabotage } from './saboteur.ts';

const sandbox = (pid: number, rollout: string | null) => ({
  sandbox: sandboxId(`s${pid}`),
  pid,
  owner:
    rollout === null
      ? null
      : {
          tenant: tenantId('t'),
          run: runId('r'),
          rollout: rolloutId(rollout),
          attempt: 1,
          role: 'policy' as const,
        },
});

/** Three sandboxes: one unclaimed, one that rests, one with a command under way; Redis is process 9. */
function world() {
  const clock = createFakeClock(0);
  const signals: [number, string][] = [];
  const faultWorld: FaultWorld = {
    fleet: {
      sandboxes: () => Promise.resolve([sandbox(1, null), sandbox(2, 'rests'), sandbox(3, 'calls')]),
      pidOf: (part) => Promise.resolve({ redis: 9, node: 8 }[part as string] ?? null),
    },
    clock,
    random: seededRandom('faults'),
    nowMs: () => clock.monotonicMs(),
    calling: () => new Set(['calls']),
    backAtMs: () => Promise.resolve(500),
    sandboxdOf: ({ pid }) => Promise.resolve(pid + 100),
    kill: (pid, signal) => void signals.push([pid, signal]),
  };
  return { faultWorld, clock, signals };
}

test('an unclaimed sandbox is killed by its process 1, and the fault names it', async () => {
  const { faultWorld, signals } = world();
  expect(await killUnbound.strike(faultWorld)).toMatchObject([{ hit: { sandbox: 's1', rollout: null } }]);
  expect(signals).toEqual([[1, 'SIGKILL']]);
});

test('a kill while a command runs takes only a rollout with a call under way', async () => {
  const { faultWorld, signals } = world();
  expect(await killCalling.strike(faultWorld)).toMatchObject([{ hit: { rollout: 'calls' } }]);
  expect(signals).toEqual([[3, 'SIGKILL']]);
});

test('a stop hits the daemon, not process 1, and always goes on', async () => {
  const { faultWorld, clock, signals } = world();
  const struck = stopForSeconds.strike(faultWorld);
  await clock.advance(10_000);
  const [fault] = await struck;
  expect(signals.map(([, signal]) => signal)).toEqual(['SIGSTOP', 'SIGCONT']);
  expect(signals[0]?.[0]).toBeGreaterThan(100);
  expect((fault?.untilMs ?? 0) - (fault?.fromMs ?? 0)).toBeGreaterThanOrEqual(500);
});

test('a bad day takes several, and at least one', async () => {
  const { faultWorld, signals } = world();
  const struck = await killWave.strike(faultWorld);
  expect(struck.length).toBe(signals.length);
  expect(struck.length).toBeGreaterThan(0);
});

test('a part is away until it says ready, and one that is down already is left alone', async () => {
  const { faultWorld, signals } = world();
  expect(await killRedis.strike(faultWorld)).toMatchObject([{ untilMs: 500, hit: { part: 'redis' } }]);
  const down = { ...faultWorld.fleet, pidOf: () => Promise.resolve(null) };
  expect(await killRedis.strike({ ...faultWorld, fleet: down })).toEqual([]);
  expect(signals).toEqual([[9, 'SIGKILL']]);
});

test('a node that is killed takes every sandbox with it, and the faults name each', async () => {
  const { faultWorld, signals } = world();
  const struck = await killNode.strike(faultWorld);
  expect(signals).toEqual([[8, 'SIGKILL']]);
  expect(struck.map(({ hit }) => ('part' in hit ? hit.part : hit.sandbox))).toEqual([
    'node',
    's1',
    's2',
    's3',
  ]);
});

test('the saboteur strikes every few seconds until it is told to stop', async () => {
  const { faultWorld, clock } = world();
  const stopping = new AbortController();
  const told: FaultDone[] = [];
  const done = sabotage(faultWorld, stopping.signal, (fault) => told.push(fault));
  await clock.advance(60_000);
  stopping.abort();
  await clock.advance(10_000);
  expect(await done).toEqual(told);
  expect(told.length).toBeGreaterThan(8);
});
