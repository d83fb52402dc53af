import { closeSync, fstatSync, openSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createNamespaces } from './namespaces.ts';

/** Namespaces that are only open files, in ranges that are counted. */
function setUp(make: (base: number) => Promise<number> = async () => openSync('/dev/null', 'r')) {
  const made: number[] = [];
  const freed: number[] = [];
  let next = 0;
  const ranges = {
    take: async () => (next += 65_536),
    free: (base: number) => void freed.push(base),
    close: () => undefined,
  };
  const clock = createFakeClock();
  const log = createFakeLog();
  const counted = (base: number) => {
    made.push(base);
    return make(base);
  };
  return {
    made,
    freed,
    clock,
    log,
    namespaces: createNamespaces({ ranges, spares: 2, clock, log, make: counted }),
  };
}

it('the next ones are made when starts have been quiet for a moment, and no sooner', async () => {
  const { made, clock, namespaces } = setUp();
  const first = await namespaces.take();
  await clock.advance(200);
  const second = await namespaces.take();
  await clock.advance(200);
  expect(made).toEqual([first.base, second.base]);
  await clock.advance(200);
  expect(made).toHaveLength(4);
  const third = await namespaces.take();
  expect(made).toContain(third.base);
  expect(made).toHaveLength(4);
  for (const each of [first, second, third]) each.close();
  namespaces.close();
});

it('those that nobody took are closed at the end, and their ids are free', async () => {
  const { freed, clock, namespaces } = setUp();
  const taken = await namespaces.take();
  await clock.advance(1_000);
  namespaces.close();
  expect(freed).toHaveLength(2);
  expect(freed).not.toContain(taken.base);
  taken.close();
  taken.close();
  taken.freeIds();
  taken.freeIds();
  expect(freed.filter((base) => base === taken.base)).toHaveLength(1);
  expect(() => fstatSync(taken.descriptor)).toThrow(/EBADF/);
});

it('where none can be made, whoever needs one is told, and the ids are not lost', async () => {
  const { freed, namespaces } = setUp(() => Promise.reject(new Error('no user namespace can be made')));
  await expect(namespaces.take()).rejects.toThrow('no user namespace can be made');
  expect(freed).toEqual([65_536]);
  namespaces.close();
});

it('one that cannot be made ahead is told once, and the next start tries itself', async () => {
  let fails = false;
  const { clock, log, namespaces } = setUp(async () => {
    if (fails) throw new Error('no space left');
    return openSync('/dev/null', 'r');
  });
  (await namespaces.take()).close();
  fails = true;
  await clock.advance(1_000);
  expect(log.lines).toContainEqual(expect.objectContaining({ level: 'warn' }));
  fails = false;
  closeSync((await namespaces.take()).descriptor);
  namespaces.close();
});
