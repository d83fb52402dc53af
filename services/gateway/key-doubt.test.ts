import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { sandboxId } from '#src/model/ids.ts';
import { createKeyDoubt } from './key-doubt.ts';

function aDoubt() {
  const [log, clock] = [createFakeLog(), createFakeClock()];
  const doubt = createKeyDoubt(log, clock);
  const answers = (status: number, ...sandboxes: readonly string[]) => {
    for (const sandbox of sandboxes) doubt.answered(sandboxId(sandbox), status);
  };
  return { log, clock, doubt, answers };
}

test('a key that three sandboxes refuse is the gateway’s own fault: told once in the log, and to whoever asks', () => {
  const { log, doubt, answers } = aDoubt();
  answers(401, 'a', 'b', 'c', 'd');
  expect(doubt.reason()).toContain('fleet key');
  expect(doubt.refusals()).toBe(4);
  expect(log.lines).toMatchObject([{ level: 'error', fields: { sandboxes: 'a b c' } }]);
});

test('one sandbox that lies, however often, or refusals between answers, say nothing of the key', () => {
  const { log, doubt, answers } = aDoubt();
  answers(401, 'a', 'a', 'a', 'a', 'b');
  answers(200, 'c');
  answers(401, 'a', 'b');
  expect(doubt.reason()).toBeNull();
  expect(log.lines).toEqual([]);
});

test('a gateway that nobody has refused for a minute is tried again', async () => {
  const { clock, doubt, answers } = aDoubt();
  answers(401, 'a', 'b', 'c');
  await clock.advance(60_000);
  expect(doubt.reason()).toBeNull();
  answers(401, 'a');
  expect(doubt.reason()).not.toBeNull();
});
