import { describe, expect, test } from 'vitest';
import { environmentVersion, runId, templateDigest } from '#src/model/ids.ts';
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

/** What both have stored, as each of them reads it. */
async function verdicts() {
  const record = await recordOf(world.fleet, key);
  const [taint, discard, score] = await world.redis.hmget(
    `corral:{test}:rollout:${key}`,
    'taintCode',
    'discard',
    'score',
  );
  return { record, old: { bar: taint ?? null, discard: discard ?? null, score: score ?? null } };
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
      record.verdict === 'scored' ? 1 : 0,
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

describe.skipIf(!before.isThere)('the previous release cannot void, and', () => {
  test('what was voided stays a discard through every event of it', async () => {
    await world.active('a', { face: 'native' });
    await world.fleet.lifecycle.void(key, 'a broken item');
    for (const event of names) await events[event](before.fleet());
    const { record, old } = await verdicts();
    expect(record.discarded?.code).toBe('voided');
    expectOneVerdict(record, old);
  });

  test('a score that was left out stays what it was, and left out', async () => {
    await world.active('a', { face: 'native' });
    await events.grade(before.fleet());
    await world.fleet.lifecycle.void(key, 'a broken item');
    for (const event of names) await events[event](before.fleet());
    const { record, old } = await verdicts();
    expect(record).toMatchObject({ verdict: 'scored', score: 0.5, voidReason: 'a broken item' });
    expectOneVerdict(record, old);
    expect(await world.fleet.reports.run(tenant, runId('run-1'))).toMatchObject({ scored: 0, voided: 1 });
  });
});

describe.skipIf(!before.isThere)('the previous release gives no task less than it demands:', () => {
  const ordinary = fakeEnvironment();
  const version2 = environmentVersion('version-2');
  const demanding = fakeEnvironment({ version: version2, demands: { memoryBytes: 'memory' } });

  test('it does not find an environment whose rows demand amounts, and finds the others', async () => {
    await world.fleet.environments.publish(ordinary);
    await world.fleet.environments.publish(demanding);
    expect(await before.fleet().environments.load(demanding.version)).toBeNull();
    const found = await before.fleet().environments.published();
    expect(found.map(({ version }) => version)).toEqual([ordinary.version]);
  });

  test('its controllers read every choice, and make another template of one that they do not know', async () => {
    const image = { kind: 'image', reference: 'python:3.12' } as const;
    const { version } = ordinary;
    await world.fleet.environments.choose(templateDigest('imaged'), { version, image });
    await world.fleet.environments.choose(templateDigest('raised'), {
      version,
      image,
      amounts: { memoryBytes: 2 ** 31 },
    });
    const { templates } = await before.fleet().environments.chosen(null);
    const images = Object.fromEntries(templates.map(({ template, image: named }) => [template, named]));
    expect(images['imaged']).toEqual(image);
    expect(images['raised']).not.toEqual(image);
  });
});

type Verdicts = Awaited<ReturnType<typeof verdicts>>;

/** Never a score next to a discard, and the same in both forms. */
function expectOneVerdict(record: Verdicts['record'], old: Verdicts['old']): void {
  expect(old.discard !== null && old.score !== null).toBe(false);
  expect(old.discard).toBe(record.discarded?.code ?? null);
  expect(old.score === null ? null : Number(old.score)).toBe(record.score);
  if (old.bar !== null) expect(old.bar).toBe(record.discarded?.code);
}
