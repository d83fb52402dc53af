import { expect, test } from 'vitest';
import { type MirrorTally, nothingAsked } from '#src/protocol/sandboxd/mirror-tally.ts';
import { createTally } from './tally.ts';

const failing = { hasFailed: true, doubt: 'load' } as const;

function aTally() {
  const written: MirrorTally[] = [];
  const tally = createTally(nothingAsked, (each) => void written.push(each));
  return { tally, last: () => written.at(-1) ?? nothingAsked };
}

test('a failure is undecided until its probe is over', async () => {
  const { tally, last } = aTally();
  const probe = Promise.withResolvers<typeof failing>();
  tally.asked('policy');
  tally.ended('policy', 'failed', () => probe.promise);
  expect(last()).toMatchObject({ undecided: 1, policy: { asked: 1, failed: 1, underWay: 0, confirmed: 0 } });
  probe.resolve(failing);
  await probe.promise;
  expect(last()).toMatchObject({
    undecided: 0,
    doubt: 'load',
    policy: { confirmed: 1 },
    grader: { asked: 0 },
  });
});

test.each([
  [failing, { failed: 1, confirmed: 1 }],
  [
    { hasFailed: false, doubt: null },
    { failed: 0, confirmed: 0 },
  ],
])('a doubtful answer has failed only if the probe has: %j', async (result, counted) => {
  const { tally, last } = aTally();
  tally.asked('grader');
  const probe = Promise.resolve(result);
  tally.ended('grader', 'doubtful', () => probe);
  expect(last()).toMatchObject({ undecided: 1, grader: { failed: 0 } });
  await probe;
  expect(last()).toMatchObject({ undecided: 0, grader: counted });
});

test('what becomes of a connection without a known user counts for policy and grader', () => {
  const { tally, last } = aTally();
  tally.connected('unknown');
  tally.asked('unknown');
  tally.ended('unknown', 'failed', () => Promise.withResolvers<typeof failing>().promise);
  expect(last()).toMatchObject({ policy: { failed: 1, open: 1 }, grader: { failed: 1, open: 1 } });
});

test('a write that fails ends the request, so that no uncounted answer leaves', () => {
  let hasRoom = true;
  const tally = createTally(nothingAsked, () => {
    if (!hasRoom) throw new Error('EIO');
  });
  hasRoom = false;
  expect(() => tally.asked('policy')).toThrow('EIO');
});
