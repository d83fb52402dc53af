import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { createCatalog } from '../environments/load-environments.ts';
import { environmentName, environmentVersion, templateDigest } from '../model/ids.ts';
import type { FleetReading, HeardProcess, WatchedTemplate } from '../ports/fleet/watch.ts';
import { watchFleet, PacedReading, restAfter } from './fleet-sight.ts';

const template = (name: string, changes: Partial<WatchedTemplate> = {}): WatchedTemplate => ({
  template: templateDigest(name),
  ready: 1,
  starting: 0,
  held: 0,
  waiting: 0,
  announced: 0,
  breaker: 'closed',
  lastFailure: null,
  environment: null,
  chosenFor: null,
  isGraders: false,
  ...changes,
});

const gateway = (changes: Partial<HeardProcess> = {}): HeardProcess => ({
  kind: 'gateway',
  host: 'pod',
  pid: 1,
  version: '0.1.0',
  ageMs: 0,
  state: 'serving',
  inHand: {},
  atMost: {},
  verdicts: {},
  silentMs: 0,
  ...changes,
});

const empty: FleetReading = {
  rollouts: { open: 0, inLine: 0, callsRunning: 0 },
  sandboxes: { all: 0, starting: 0, leaving: 0 },
  line: [],
  runsLeftOut: 0,
  templates: [],
  templatesLeftOut: 0,
  processes: [],
  costMs: 0,
};

function watching(reading: Partial<FleetReading>) {
  const own = fakeEnvironment({ name: environmentName('own') });
  const sight = watchFleet({
    watch: { read: () => Promise.resolve({ ...empty, ...reading }) },
    memory: { usage: () => Promise.resolve({ usedBytes: 1, limitBytes: null }) },
    server: () => Promise.resolve(null),
    catalog: createCatalog([own]),
    board: { recent: async () => [] },
    clock: createFakeClock(),
  });
  return { own, sight };
}

test('a template is called after its environment: of the folder, of who holds one, or of whose row named it', async () => {
  const { own } = watching({});
  const { sight } = watching({
    templates: [
      template(own.template.digest),
      template('earlier', { environment: environmentName('older') }),
      template('of-row', { chosenFor: own.version }),
      template('unknown', { chosenFor: environmentVersion('nobody has it') }),
    ],
  });
  const { reading } = await sight.get();
  expect([...reading.environments]).toEqual([
    [own.template.digest, 'own'],
    ['earlier', 'older'],
    ['of-row', 'own'],
  ]);
});

test('the rest after a reading is twenty times its cost for each gateway that may be read by', async () => {
  const gone = [gateway({ state: 'left' }), gateway({ silentMs: 60_000 }), gateway({ kind: 'controller' })];
  const { sight } = watching({ costMs: 100, processes: [gateway(), gateway(), ...gone] });
  expect((await sight.get()).nextInMs).toBe(2 * 20 * 100);
});

/** A Redis whose readings take `costMs`; it counts the time that they took in all. */
function slowRedis(costMs: number, gateways: number) {
  const clock = createFakeClock();
  let spentMs = 0;
  const pacers = Array.from(
    { length: gateways },
    () =>
      new PacedReading({
        clock,
        read: async () => {
          spentMs += costMs;
          if (costMs > 0) await clock.sleep(costMs);
          return { costMs };
        },
        restMs: (reading) => restAfter(reading.costMs, gateways),
      }),
  );
  const ask = (gateway: number) => {
    const pacer = pacers[gateway];
    if (pacer === undefined) throw new Error(`there is no gateway ${gateway}`);
    return pacer.get();
  };
  return { clock, ask, spentMs: () => spentMs, gateways };
}

/** Everybody asks every 100 ms for ten minutes. */
async function watchFor(durationMs: number, redis: ReturnType<typeof slowRedis>): Promise<void> {
  for (let passed = 0; passed < durationMs; passed += 100) {
    for (let gateway = 0; gateway < redis.gateways; gateway += 1) void redis.ask(gateway);
    await redis.clock.advance(100);
  }
}

test.each([
  ['short', 2, 1],
  ['long', 400, 1],
  ['long', 400, 5],
  ['very long', 3_000, 2],
])(
  'readings that are %s (%i ms) take at most a twentieth of Redis’ time, though %i gateways are asked all the time',
  async (_name, costMs, gateways) => {
    const redis = slowRedis(costMs, gateways);
    const durationMs = 10 * 60_000;
    await watchFor(durationMs, redis);
    // One reading more, which begins before the others have had their rest.
    expect(redis.spentMs()).toBeLessThanOrEqual(0.05 * durationMs + costMs * gateways);
    expect(redis.spentMs()).toBeGreaterThan(0);
  },
  30_000,
);

test('a short reading is done again every second and no sooner, and who asks between gets it with its age', async () => {
  const { clock, ask } = slowRedis(0, 1);
  const first = await ask(0);
  await clock.advance(400);
  const between = await ask(0);
  expect([first.ageMs, between.ageMs, between.nextInMs]).toEqual([0, 400, 600]);
  expect(between.reading).toBe(first.reading);
  await clock.advance(600);
  expect((await ask(0)).ageMs).toBe(0);
});

test('all who ask while a reading is under way get that one', async () => {
  const { clock, ask, spentMs } = slowRedis(50, 1);
  const asked = [ask(0), ask(0), ask(0)];
  await clock.advance(50);
  expect(new Set((await Promise.all(asked)).map(({ reading }) => reading)).size).toBe(1);
  expect(spentMs()).toBe(50);
});

test('one that failed is not done again at once: until then everybody is told how it ended', async () => {
  const clock = createFakeClock();
  let tries = 0;
  const read = () => {
    tries += 1;
    return tries === 1 ? Promise.reject(new Error('away')) : Promise.resolve('there');
  };
  const pacer = new PacedReading({ clock, read, restMs: () => 1_000 });
  await expect(pacer.get()).rejects.toThrow('away');
  await clock.advance(999);
  await expect(pacer.get()).rejects.toThrow('away');
  expect(tries).toBe(1);
  await clock.advance(1);
  expect(await pacer.get()).toMatchObject({ reading: 'there' });
});
