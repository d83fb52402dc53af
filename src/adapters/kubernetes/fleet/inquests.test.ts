import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakePodView } from '#test/fakes/pod-view.ts';
import { createInquests, type Shortage } from './inquests.ts';

const atMs = Date.parse('2026-01-01T00:10:00Z');
const running = fakePodView();
const killed = fakePodView({
  phase: 'gone',
  address: null,
  killedForMemoryAtMs: atMs,
  ending: { cause: 'out_of_memory', evidence: { podUid: 'uid-1' } },
});

function setUp(answer: () => Promise<readonly Shortage[]>) {
  const clock = createFakeClock();
  const asked: string[] = [];
  const inquests = createInquests({
    clock,
    shortagesOf: (node) => {
      asked.push(node);
      return answer();
    },
  });
  return { clock, asked, inquests };
}

const shortage = (fromMs: number, toMs = fromMs): Shortage => ({
  fromMs,
  toMs,
  says: 'System OOM encountered',
});

test('the end is kept back until the node can have told of its own, and is then the sandbox’s', async () => {
  const { clock, asked, inquests } = setUp(async () => []);
  expect(inquests.shown(killed, running)).toBe(running);
  expect(await inquests.conclude()).toEqual([]);
  await clock.advance(3_000);
  expect(await inquests.conclude()).toEqual([killed]);
  expect(asked).toEqual(['node-1']);
  expect(await inquests.conclude()).toEqual([]);
});

test.each([
  ['at the same time', [shortage(atMs - 1_000)], 'node_out_of_memory'],
  ['just after it', [shortage(atMs + 2_000)], 'node_out_of_memory'],
  ['again and again, around it', [shortage(atMs - 500_000, atMs + 20_000)], 'node_out_of_memory'],
  ['long before it', [shortage(atMs - 60_000)], 'out_of_memory'],
  ['without saying when', [shortage(Number.NaN)], 'out_of_memory'],
] as const)('the node had no memory left %s', async (_when, shortages, cause) => {
  const { clock, inquests } = setUp(async () => shortages);
  inquests.shown(killed, running);
  await clock.advance(3_000);
  const told = await inquests.conclude();
  expect(told).toMatchObject([{ ending: { cause } }]);
  // Later changes of the same pod are told alike.
  expect(inquests.shown(killed, told[0] ?? null)).toMatchObject({ ending: { cause } });
});

test('an event of the node is marked, because a policy can bring its words into the kernel’s log', async () => {
  const { clock, inquests } = setUp(async () => [shortage(atMs)]);
  inquests.shown(killed, running);
  await clock.advance(3_000);
  expect(await inquests.conclude()).toMatchObject([{ ending: { evidence: { suspected: 'command' } } }]);
});

test('a sandbox that may use more than its node keeps for it is not blamed for a kill without an event', async () => {
  const { clock, inquests } = setUp(async () => []);
  inquests.shown({ ...killed, memoryPromised: false }, running);
  await clock.advance(3_000);
  expect(await inquests.conclude()).toMatchObject([
    { ending: { cause: 'sandboxd_killed', evidence: { memoryRequest: 'below the limit' } } },
  ]);
});

test('events that cannot be read are asked for again, and in the end nobody is blamed', async () => {
  const { clock, asked, inquests } = setUp(() => Promise.reject(new Error('forbidden')));
  inquests.shown(killed, running);
  await clock.advance(3_000);
  expect(await inquests.conclude()).toEqual([]);
  await clock.advance(7_000);
  expect(await inquests.conclude()).toMatchObject([
    { ending: { cause: 'sandboxd_killed', evidence: { nodeEvents: 'could not be read: forbidden' } } },
  ]);
  expect(asked).toHaveLength(2);
});

test('a step whose pods all end so at once asks each of their nodes once', async () => {
  const { clock, asked, inquests } = setUp(async () => []);
  for (let pod = 0; pod < 100; pod += 1)
    inquests.shown({ ...killed, uid: `uid-${pod}`, node: `node-${pod % 4}` }, null);
  await clock.advance(3_000);
  expect(await inquests.conclude()).toHaveLength(100);
  expect(asked.toSorted()).toEqual(['node-0', 'node-1', 'node-2', 'node-3']);
});

test('a pod that has never been told is not told before its end is known', () => {
  const { inquests } = setUp(async () => []);
  expect(inquests.shown(killed, null)).toBeNull();
  expect(inquests.shown(killed, fakePodView({ uid: 'uid-2' }))).toBeNull();
});

test('an object that is deleted meanwhile ends its inquest, also one that a list no longer has', async () => {
  const { clock, inquests } = setUp(async () => []);
  inquests.shown(killed, running);
  expect(inquests.closed(killed)).toMatchObject({ ending: { cause: 'sandboxd_killed' } });
  inquests.shown(killed, running);
  inquests.keepOnly([]);
  await clock.advance(3_000);
  expect(await inquests.conclude()).toEqual([]);
});

test('a pod whose removal we asked for meanwhile was deleted, and nothing is looked into', async () => {
  const { clock, asked, inquests } = setUp(async () => []);
  const removed = fakePodView({ phase: 'gone', ending: { cause: 'deleted', evidence: {} } });
  inquests.shown(killed, running);
  expect(inquests.closed(removed)).toBe(removed);
  inquests.shown(killed, running);
  expect(inquests.shown(removed, running)).toBe(removed);
  await clock.advance(3_000);
  expect(await inquests.conclude()).toEqual([]);
  expect(asked).toEqual([]);
});

test('every other end is told at once', () => {
  const { inquests } = setUp(async () => []);
  const evicted = fakePodView({ phase: 'gone', ending: { cause: 'evicted', evidence: {} } });
  expect(inquests.shown(evicted, running)).toBe(evicted);
  expect(inquests.closed(evicted)).toBe(evicted);
});
