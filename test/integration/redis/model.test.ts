import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bootId, sandboxId, type SandboxId } from '#src/model/ids.ts';
import { sandboxAddress, type RolloutKey } from '#src/model/rollout.ts';
import type { KnownSandbox } from '#src/ports/fleet/pool.ts';
import {
  admitOf,
  claimOf,
  gradeAsk,
  keyOf,
  minute,
  ownerOf,
  recordOf,
  sandboxOf,
  second,
  settlementOf,
  startWorld,
  template,
  type World,
} from './world.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.stop());

type Turn = 'claim' | 'call' | 'settle' | 'close' | 'lose' | 'swap' | 'renew' | 'grade';

/** What gateways, controllers and accidents do, in any order and many at once. */
type Deed =
  | { readonly kind: Turn; readonly who: number }
  | { readonly kind: 'start' | 'sweep' | 'destroy' }
  | { readonly kind: 'step'; readonly byMs: number };

const rollouts = 8;
const who = fc.nat(rollouts - 1);
const turn = (...kinds: Turn[]) => fc.record({ kind: fc.constantFrom(...kinds), who });
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 6, arbitrary: turn('claim') },
  { weight: 6, arbitrary: fc.constant({ kind: 'start' as const }) },
  { weight: 4, arbitrary: turn('call') },
  { weight: 3, arbitrary: turn('settle') },
  { weight: 6, arbitrary: turn('close', 'lose', 'swap', 'renew', 'grade') },
  { weight: 2, arbitrary: fc.constantFrom({ kind: 'sweep' as const }, { kind: 'destroy' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('step' as const),
      byMs: fc.constantFrom(second, 11 * second, 31 * second, 121 * second, 16 * minute),
    }),
  },
);

const nameOf = (index: number) => `r${index}`;
const runOf = (index: number) => `run-${index % 3}`;
const recordAt = (index: number) => world.fleet.claims.find(ownerOf(nameOf(index), runOf(index)), 1);
let started = 0;

async function start(): Promise<void> {
  const name = sandboxId(`m${(started += 1)}`);
  const targets = [{ template, minReady: 2, max: 6 }];
  const reserved = await reserveOne(world.fleet.pool, name, targets, 4, minute);
  if (reserved !== null) await world.fleet.pool.ready(name, bootId(`b-${name}`), sandboxAddress('unix:/s'));
}

async function sweep(): Promise<void> {
  await world.fleet.lifecycle.takeBackGrants(30 * second);
  await world.fleet.lifecycle.expireDue(100);
  await world.fleet.pool.overdueLaunches();
}

async function destroy(): Promise<void> {
  for (const sandbox of await world.fleet.pool.draining(100)) await world.fleet.pool.forget(sandbox);
}

async function toRollout(kind: Turn, index: number): Promise<void> {
  const { claims, calls, lifecycle, grades } = world.fleet;
  const owner = ownerOf(nameOf(index), runOf(index));
  if (kind === 'claim') return void (await claims.claim(claimOf(nameOf(index), { owner })));
  const record = await recordAt(index);
  if (record === null) return;
  const actions: Record<Exclude<Turn, 'claim'>, () => Promise<unknown>> = {
    call: () => calls.admit(admitOf(record, `c${record.calls}`)),
    settle: () => calls.settle(settlementOf(record.key, `c${Math.max(0, record.calls - 1)}`)),
    close: () => lifecycle.close(record.key, 'finished'),
    lose: async () =>
      record.epoch && (await lifecycle.lose(record.epoch.sandbox, record.epoch.boot, 'evicted', {})),
    swap: () => claims.swap(record.key, record.generation, 'bind failed', {}),
    renew: () => claims.renew([record.key]),
    grade: async () => {
      const begun = await grades.begin(record.key, gradeAsk());
      if (begun.kind === 'run') await grades.score(record.key, begun.turn, 1, {}).catch(() => undefined);
    },
  };
  await actions[kind]();
}

async function carryOut(deed: Deed): Promise<void> {
  if ('who' in deed) return toRollout(deed.kind, deed.who);
  if ('byMs' in deed) return world.step(deed.byMs);
  return { start, sweep, destroy }[deed.kind]();
}

/** What a reader holds that has heard of every move since it began, and of nothing else. */
class Told {
  #known = new Map<SandboxId, KnownSandbox>();
  #place = '';

  async read(): Promise<ReadonlyMap<SandboxId, KnownSandbox>> {
    const { place, startsOver, sandboxes } = await world.fleet.pool.moved(this.#place, 0);
    if (startsOver) this.#known = new Map(await world.fleet.pool.known());
    this.#place = place;
    for (const [sandbox, known] of sandboxes) {
      if (known === null) this.#known.delete(sandbox);
      else this.#known.set(sandbox, known);
    }
    return this.#known;
  }
}

async function checkTold(told: Told): Promise<void> {
  expect(await told.read()).toEqual(await world.fleet.pool.known());
}

/** Everything that must hold between any two scripts. */
async function checkInvariants(everOwned: Map<string, RolloutKey>, tainted: Set<RolloutKey>): Promise<void> {
  const known = await world.fleet.pool.known();
  const [counts] = await world.fleet.pool.counts([template]);
  const held = [...known].filter(([, { phase, owner }]) => phase === 'ready' && owner !== null);
  expect(counts?.held).toBe(held.length);
  expect(counts?.ready).toBe([...known.values()].filter((box) => box.phase === 'ready' && !box.owner).length);
  expect(counts?.launching).toBe([...known.values()].filter((box) => box.phase === 'starting').length);
  expect(new Set(held.map(([, { owner }]) => owner)).size, 'one live sandbox a rollout').toBe(held.length);
  for (const [sandbox, { owner }] of known) {
    if (owner === null) {
      expect(everOwned.has(sandbox), `${sandbox} lost its owner`).toBe(false);
      continue;
    }
    expect(everOwned.get(sandbox) ?? owner, `${sandbox} served two`).toBe(owner);
    everOwned.set(sandbox, owner);
  }
  for (let index = 0; index < rollouts; index += 1) {
    const record = await recordAt(index);
    if (record === null) continue;
    if (record.state === 'claimed' || record.state === 'active') {
      const box = known.get(sandboxOf(record));
      const alive = record.discarded === null;
      if (alive) expect(box, `${record.key} in ${record.state}`).toMatchObject({ owner: record.key });
    }
    if (record.state === 'waiting') expect(record.epoch).toBeNull();
    if (record.discarded !== null) tainted.add(record.key);
    if (tainted.has(record.key)) expect([record.discarded === null, record.score]).toEqual([false, null]);
    const calls = await world.fleet.calls.list(record.key);
    expect(calls.filter(({ state }) => state === 'dispatched')).toHaveLength(record.inFlight);
    if (record.state === 'closed' || record.state === 'expired') expect(record.inFlight).toBe(0);
  }
}

test('whatever happens, one after the other: no sandbox serves two, no rollout has two, no taint is undone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { minLength: 10, maxLength: 60 }), async (deeds) => {
      await world.reset();
      const owned = new Map<string, RolloutKey>();
      const tainted = new Set<RolloutKey>();
      const told = new Told();
      await checkTold(told);
      for (const each of deeds) {
        await carryOut(each);
        await checkTold(told);
        await checkInvariants(owned, tainted);
      }
    }),
    { numRuns: 40 },
  );
});

test('whatever happens at the same time, the same holds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(deed, { minLength: 2, maxLength: 20 }), { minLength: 2, maxLength: 8 }),
      async (rounds) => {
        await world.reset();
        const owned = new Map<string, RolloutKey>();
        const tainted = new Set<RolloutKey>();
        const told = new Told();
        await checkTold(told);
        for (const round of rounds) {
          await Promise.all(round.map(carryOut));
          await checkTold(told);
          await checkInvariants(owned, tainted);
        }
      },
    ),
    { numRuns: 40 },
  );
});

test('between runs nobody is served twice while another waits, inside a run nobody overtakes', async () => {
  const arrival = fc.array(fc.nat(3), { minLength: 4, maxLength: 24 });
  await fc.assert(
    fc.asyncProperty(arrival, async (runs) => {
      await world.reset();
      for (const [index, run] of runs.entries()) {
        const owner = ownerOf(nameOf(index), `run-${run}`);
        await world.fleet.claims.claim(claimOf(nameOf(index), { owner }));
        await world.step(1);
      }
      const waiting = new Map<number, number[]>();
      for (const [index, run] of runs.entries()) waiting.set(run, [...(waiting.get(run) ?? []), index]);
      const servedOf = new Map<number, number>();
      for (const _ of runs) {
        await start();
        const run = await whoWasServed(waiting);
        servedOf.set(run, (servedOf.get(run) ?? 0) + 1);
        for (const [other, left] of waiting) {
          const lead = (servedOf.get(run) ?? 0) - (servedOf.get(other) ?? 0);
          if (left.length > 0) expect(lead, `run ${run} before run ${other}`).toBeLessThanOrEqual(1);
        }
        await destroy();
      }
    }),
    { numRuns: 25 },
  );
});

/** Finds who of the heads of the lines was granted, takes it out and closes it; fails when it was no head. */
async function whoWasServed(waiting: Map<number, number[]>): Promise<number> {
  for (const [run, left] of waiting) {
    const [head, ...rest] = left;
    if (head === undefined) continue;
    const key = keyOf(nameOf(head), `run-${run}`);
    if ((await recordOf(world.fleet, key)).state !== 'claimed') continue;
    waiting.set(run, rest);
    await world.fleet.lifecycle.close(key, 'finished');
    return run;
  }
  throw new Error('nobody at the head of a line was served');
}
