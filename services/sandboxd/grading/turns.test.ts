import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { nothingCaptured } from '../command/capture.ts';
import type { CommandResult } from '../command/run-command.ts';
import { Turns } from './turns.ts';

const never = new AbortController().signal;

const ended: CommandResult = {
  ending: { kind: 'exited', exitCode: 0 },
  stdout: nothingCaptured,
  stderr: nothingCaptured,
  durationMs: 1,
  escapedProcesses: 0,
  backgroundProcesses: 0,
};

/** What the engine does by itself when memory is wanted. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

test('a turn that a later one stopped before it looked hears of it all the same', async () => {
  const turns = new Turns();
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const first = turns.take(1, never, async (stop) => {
    begun.resolve();
    // It kills and places files first, and is asked to stop meanwhile.
    await goOn.promise;
    return { result: ended, stopped: stop.aborted };
  });
  await begun.promise;
  const second = turns.take(2, never, async () => ({ result: ended }));
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  goOn.resolve();
  expect(await first).toMatchObject({ stopped: true });
  expect(await second).toEqual({ result: ended });
});

test('a call that is cancelled stops its turn', async () => {
  const cancel = new AbortController();
  const first = new Turns().take(1, cancel.signal, async (stop) => {
    cancel.abort();
    return { result: ended, stopped: stop.aborted };
  });
  expect(await first).toMatchObject({ stopped: true });
});

test('a turn that comes late is not run', async () => {
  const turns = new Turns();
  await turns.take(2, never, async () => ({ result: ended }));
  const late = await turns.take(1, never, () => Promise.reject(new Error('it ran')));
  expect(late).toMatchObject({ result: { ending: { kind: 'cancelled' } } });
});
