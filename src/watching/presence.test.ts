import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import type { ProcessWord } from '../ports/fleet/watch.ts';
import { tellPresence } from './presence.ts';

const self = { kind: 'gateway', host: 'pod-1', pid: 1, version: '0.1.0' } as const;

/** A gateway that has `requests` in hand, and the words that were heard of it. */
function speaking(tell: (heard: ProcessWord[], word: ProcessWord) => Promise<void>) {
  const clock = createFakeClock();
  const leaving = new AbortController();
  const heard: ProcessWord[] = [];
  const troubles: unknown[] = [];
  let requests = 0;
  const done = tellPresence({
    watch: { tell: (_process, word) => tell(heard, word) },
    clock,
    self,
    process: 'p1',
    present: () => ({ state: 'serving', inHand: { requests: (requests += 1) }, atMost: {}, verdicts: {} }),
    onError: (thrown) => troubles.push(thrown),
    signal: leaving.signal,
  });
  return { clock, heard, troubles, done, leave: () => leaving.abort() };
}

const hear = (heard: ProcessWord[], word: ProcessWord) => {
  heard.push(word);
  return Promise.resolve();
};

test('a process says every two seconds what it has in hand then and how long it has run, and at its end that it left', async () => {
  const { clock, heard, done, leave } = speaking(hear);
  await clock.advance(2_000);
  leave();
  await done;
  const common = { ...self, atMost: {}, verdicts: {} };
  expect(heard).toEqual([
    { ...common, state: 'serving', ageMs: 0, inHand: { requests: 1 } },
    { ...common, state: 'serving', ageMs: 2_000, inHand: { requests: 2 } },
    { ...common, state: 'left', ageMs: 2_000, inHand: {} },
  ]);
});

test('words that nobody hears are told of, and it speaks on', async () => {
  let tries = 0;
  const { clock, heard, troubles, done, leave } = speaking((words, word) => {
    tries += 1;
    return tries === 1 ? Promise.reject(new Error('Redis is away')) : hear(words, word);
  });
  await clock.advance(2_000);
  expect([troubles.length, heard.length]).toEqual([1, 1]);
  leave();
  await done;
});
