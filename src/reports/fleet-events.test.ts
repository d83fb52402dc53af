import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { rolloutId, tenantId } from '../model/ids.ts';
import type { AskKeeper, HeardKeeper } from '../ports/fleet/watch.ts';
import type { KeepersLine, Told, Wanted } from '../protocol/fleet/events.ts';
import { FleetEvents } from './fleet-events.ts';
import { OwnEvents } from './own-events.ts';

/** A log that is only searched. */
const noFiles = {
  files: () => Promise.resolve(null),
  async *follow(): AsyncGenerator<never, 'gone'> {
    yield* [];
    return 'gone';
  },
};

const wanted: Wanted = { tenant: tenantId('acme'), run: null, rollout: rolloutId('a') };
const all: Told = { told: 'all', why: null };

async function* lines(...given: readonly string[]): AsyncGenerator<string> {
  for (const line of given) yield line;
}

const keeper = (host: string, changes: Partial<HeardKeeper> = {}): HeardKeeper => ({
  component: 'gateway',
  host,
  address: `http://${host}`,
  keeps: true,
  log: `log of ${host}`,
  silentMs: 0,
  ...changes,
});

type World = {
  readonly keepers: readonly HeardKeeper[] | Error;
  readonly ask?: AskKeeper;
  readonly search?: () => AsyncIterable<string> | null;
};

function world({ keepers, ask, search = () => lines('own 1', 'own 2') }: World) {
  const clock = createFakeClock();
  const own = new OwnEvents({ log: { ...noFiles, flush: () => Promise.resolve(), search }, clock });
  const deps = {
    self: { name: 'gateway itself', log: 'log of itself' },
    own,
    keepers: { all: async () => (keepers instanceof Error ? Promise.reject(keepers) : keepers) },
    ask: ask ?? (() => Promise.reject(new Error('nobody is asked here')) as never),
    clock,
  };
  const events = new FleetEvents(deps);
  return { clock, own, tell: () => events.tell(wanted) };
}

async function read(told: AsyncGenerator<string>) {
  const got = (await Array.fromAsync(told)).map((line) => line.trimEnd());
  const last = JSON.parse(got.pop() ?? '') as KeepersLine;
  const keepers = last.keepers.map(({ keeper: name, told: how, why }) => [name, how, why]);
  return { lines: got.toSorted(), keepers };
}

test('a story that three processes logged is told whole by each, and each log once', async () => {
  const others = [keeper('b'), keeper('c'), keeper('itself, of before', { log: 'log of itself' })];
  const { tell } = world({
    keepers: others,
    async *ask(address) {
      yield `from ${address}`;
      return all;
    },
  });
  expect(await read(tell())).toEqual({
    lines: ['from http://b', 'from http://c', 'own 1', 'own 2'],
    keepers: [
      ['gateway itself', 'all', null],
      ['gateway b', 'all', null],
      ['gateway c', 'all', null],
    ],
  });
});

test('whoever is gone, does not answer, breaks off, listens nowhere or keeps nothing is named with its reason', async () => {
  const others = [
    keeper('gone', { silentMs: 3_600_000 }),
    keeper('silent'),
    keeper('broken'),
    keeper('deaf', { address: null, component: 'controller' }),
    keeper('cloud', { keeps: false }),
  ];
  const { tell } = world({
    keepers: others,
    async *ask(address) {
      if (address === 'http://silent') throw new Error('nothing came within 2 s');
      yield 'half';
      throw new Error('its answer broke off');
    },
  });
  expect(await read(tell())).toEqual({
    lines: ['half', 'own 1', 'own 2'],
    keepers: [
      ['gateway itself', 'all', null],
      ['gateway gone', 'nothing', 'it is gone'],
      ['gateway silent', 'nothing', 'it did not answer: nothing came within 2 s'],
      ['gateway broken', 'some', 'it did not answer: its answer broke off'],
      ['controller deaf', 'nothing', expect.stringContaining('listens nowhere')],
      ['gateway cloud', 'nothing', expect.stringContaining('standard output')],
    ],
  });
});

test('without fleet state a gateway tells its own part, and that there may be others', async () => {
  const { tell } = world({ keepers: new Error('no Redis') });
  expect(await read(tell())).toEqual({
    lines: ['own 1', 'own 2'],
    keepers: [
      ['gateway itself', 'all', null],
      ['the other processes', 'nothing', 'fleet state did not say which there are'],
    ],
  });
});

test('a reader who goes away ends every part', async () => {
  const ended: string[] = [];
  let search = 0;
  const { tell, own } = world({
    keepers: [keeper('b')],
    async *ask(address, _wanted, signal) {
      try {
        for (;;) {
          if (signal.aborted) return all;
          yield 'more';
        }
      } finally {
        ended.push(address);
      }
    },
    search: () => {
      search += 1;
      return lines('own 1', 'own 2', 'own 3');
    },
  });
  for (let n = 0; n < 5; n += 1) {
    for await (const line of tell()) {
      expect(line).toMatch(/\n$/);
      break;
    }
    await sleep(1);
  }
  expect([search, ended.length]).toEqual([5, 5]);
  // None of them still counts as a search under way.
  expect(await Array.fromAsync(own.tell(wanted, new AbortController().signal))).toHaveLength(3);
});

test('of nine who ask at once the ninth is told to ask again, and others are not asked for it', async () => {
  const { tell } = world({ keepers: [] });
  const stories = Array.from({ length: 8 }, tell);
  await Promise.all(stories.map((story) => story.next()));
  expect(await read(tell())).toEqual({
    lines: [],
    keepers: [['gateway itself', 'nothing', expect.stringContaining('ask again')]],
  });
  await Promise.all(stories.map((story) => story.return(undefined)));
  expect((await read(tell())).lines).toEqual(['own 1', 'own 2']);
});

test('a log that is looked through by two is not looked through by a third', async () => {
  const { own } = world({ keepers: [] });
  const { signal } = new AbortController();
  const [one, two, three] = [own.tell(wanted, signal), own.tell(wanted, signal), own.tell(wanted, signal)];
  await Promise.all([one.next(), two.next()]);
  expect(await three.next()).toEqual({
    done: true,
    value: { told: 'nothing', why: expect.stringContaining('ask again') },
  });
  await Promise.all([one, two].map((each) => each.return(all)));
});

test('a search that takes too long ends, and says that older events are left out', async () => {
  let until: AbortSignal | null = null;
  const clock = createFakeClock();
  async function* slow(_wanted: Wanted, signal: AbortSignal) {
    until = signal;
    yield 'newest';
    await clock.sleep(60_000, signal);
  }
  const own = new OwnEvents({ log: { ...noFiles, flush: () => Promise.resolve(), search: slow }, clock });
  const told = own.tell(wanted, new AbortController().signal);
  expect(await told.next()).toEqual({ done: false, value: 'newest' });
  const rest = told.next();
  await clock.advance(5_000);
  expect(await rest).toMatchObject({ done: true, value: { told: 'some' } });
  expect(until).toMatchObject({ aborted: true });
});
