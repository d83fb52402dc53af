import { describe, expect, test } from 'vitest';
import { environmentVersion, runId } from '#src/model/ids.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { type FleetBefore, previousReleaseNextTo } from '#test/support/release-before.ts';
import { gradeAsk, keyOf, minute, recordOf, sandboxOf, tenant, worldOfTests } from './world.ts';

const world = worldOfTests(1);
const key = keyOf('a');

const before = await previousReleaseNextTo(world);

const fleetOf = { old: (): Actor => before.fleet(), new: (): Actor => world.fleet };
type Actor = Pick<FleetBefore, 'lifecycle' | 'grades'>;
type Release = keyof typeof fleetOf;

async function takeTurn(fleet: Actor, end: (turn: number) => Promise<unknown>): Promise<void> {
  const begun = await fleet.grades.begin(key, gradeAsk());
  if (begun.kind === 'run') await end(begun.turn).catch(() => undefined);
}

async function lose(fleet: Actor, cause: 'evicted' | 'out_of_memory'): Promise<void> {
  await fleet.lifecycle.lose(sandboxOf(await recordOf(world.fleet, key)), null, cause, {});
}

const events = {
  lose: (fleet: Actor) => lose(fleet, 'evicted'),
  grade: (fleet: Actor) => takeTurn(fleet, (turn) => fleet.grades.score(key, turn, 0.5, {})),
  break: (fleet: Actor) => lose(fleet, 'out_of_memory'),
  expire: async (fleet: Actor) => {
    await world.step(16 * minute);
    await fleet.lifecycle.expireDue(10);
  },
  void: (fleet: Actor) => fleet.lifecycle.void(key, 'a broken item').then(() => undefined),
  'give up': async (fleet: Actor) => {
    for (let turn = 0; turn < 3; turn += 1)
      await takeTurn(fleet, (number) => fleet.grades.failed(key, number, {}));
  },
};
type Event = keyof typeof events;
const names = Object.keys(events) as readonly Event[];

const orders: readonly (readonly [Release, Release])[] = [
  ['old', 'new'],
  ['new', 'old'],
];
const pairs = orders.flatMap(([one, other]) =>
  names.flatMap((first) => names.map((second) => ({ one, first, other, second }))),
);

/** The record as each of them reads it. */
async function verdicts() {
  const record = await recordOf(world.fleet, key);
  return { record, old: await recordOf(before.fleet(), key) };
}

describe.skipIf(!before.isThere)('with a gateway and a controller of the previous release', () => {
  test.each(pairs)('$first by the $one one, then $second by the $other one: one verdict', async (pair) => {
    await world.active('a', { face: 'native' });
    await events[pair.first](fleetOf[pair.one]());
    const { record: decided } = await verdicts();
    await events[pair.second](fleetOf[pair.other]());
    const { record, old } = await verdicts();
    if (decided.verdict === 'scored' || decided.verdict === 'discarded')
      expect([record.verdict, record.discarded?.code]).toEqual([decided.verdict, decided.discarded?.code]);
    expectOneVerdict(record, old);
    const { discarded, scored } = (await world.fleet.reports.run(tenant, runId('run-1'))) ?? {};
    expect([scored, discarded]).toEqual([
      record.verdict === 'scored' && record.voidedAtMs === null ? 1 : 0,
      record.verdict === 'discarded' ? 1 : 0,
    ]);
  });

  test.each(names)('what $0 made, every later event of either leaves one verdict', async (first) => {
    await world.active('a', { face: 'native' });
    await events[first](before.fleet());
    for (const event of names) {
      for (const fleet of [world.fleet, before.fleet()]) {
        await events[event](fleet);
        const { record, old } = await verdicts();
        expectOneVerdict(record, old);
      }
    }
  });
});

describe.skipIf(!before.isThere)('the previous release believes no judge without its canaries:', () => {
  const ordinary = fakeEnvironment();
  const guarded = fakeEnvironment({
    version: environmentVersion('version-2'),
    grader: {
      kind: 'http',
      url: 'http://judge.example',
      headers: {},
      timeoutMs: 1_000,
      retries: 0,
      onRefused: 0,
      control: 'none',
      guard: { everyGrades: 1, item: {}, canaries: [] },
    },
  });

  test('it does not find an environment whose judge is guarded, and finds the others', async () => {
    await world.fleet.environments.publish(ordinary);
    await world.fleet.environments.publish(guarded);
    expect(await before.fleet().environments.load(guarded.version)).toBeNull();
    const found = await before.fleet().environments.published();
    expect(found.map(({ version }) => version)).toEqual([ordinary.version]);
    expect(await world.fleet.environments.load(guarded.version)).toEqual(guarded);
  });
});

type Verdicts = Awaited<ReturnType<typeof verdicts>>;

/** Never a score next to a discard, and the same for both. */
function expectOneVerdict(record: Verdicts['record'], old: Verdicts['old']): void {
  expect(record.discarded !== null && record.score !== null).toBe(false);
  expect([old.verdict, old.score, old.discarded?.code, old.healing]).toEqual([
    record.verdict,
    record.score,
    record.discarded?.code,
    record.healing,
  ]);
}
