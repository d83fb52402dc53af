import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { aBind, aShellCall, startSandboxd, type TestSandboxd } from '#test/support/sandboxd.ts';

const mebibyte = 1024 * 1024;
/** What the journal of one life may hold; see `daemon.ts`. */
const journalBytes = 8 * mebibyte;
const answerBytes = mebibyte;

let sandboxd: TestSandboxd;
beforeAll(async () => {
  sandboxd = await startSandboxd();
  await sandboxd.link.bind(sandboxd.target, aBind(), AbortSignal.timeout(60_000));
});
afterAll(() => sandboxd.stop());

/** Prints a whole answer's worth, and leaves a trace of having run. */
const call = (id: string, waitMs = 15_000) =>
  sandboxd.link.call(
    sandboxd.target,
    callId(id),
    aShellCall(`echo ${id} >> ran; head -c ${answerBytes} /dev/zero | tr '\\0' x`, {
      keepBytes: answerBytes,
    }),
    waitMs,
    AbortSignal.timeout(60_000),
  );

const stateOf = async (id: string) => {
  const { calls } = await sandboxd.link.identity(sandboxd.target, AbortSignal.timeout(60_000));
  return calls.find((each) => each.callId === id)?.state;
};

it('keeps 8 MiB of answers that nobody has confirmed; the next call waits without running, and runs when there is room', async () => {
  // A call has the whole of both its streams reserved before it runs: beside six of these there is no room for one more.
  const kept = Array.from({ length: journalBytes / answerBytes - 2 }, (_, number) => `kept_${number}`);
  for (const id of kept) expect(await call(id)).toMatchObject({ stdout: { totalBytes: answerBytes } });

  expect(await call('late', 0)).toBe('running');
  const waiting = call('late');
  // Long enough for a call that did not wait: the others took some ten milliseconds each.
  expect(await Promise.race([waiting, sleep(500, 'waits')])).toBe('waits');
  expect(await stateOf('late')).toBe('received');
  expect(await call('kept_0')).toMatchObject({ stdout: { totalBytes: answerBytes } });

  await sandboxd.link.confirm(sandboxd.target, [callId('kept_0')], AbortSignal.timeout(60_000));
  expect(await waiting).toMatchObject({ stdout: { totalBytes: answerBytes } });
  const { stdout } = (await sandboxd.link.call(
    sandboxd.target,
    callId('count'),
    aShellCall('sort ran | uniq -c | sort -rn | head -1; wc -l < ran', { keepBytes: 1024 }),
    5_000,
    AbortSignal.timeout(60_000),
  )) as Exclude<Awaited<ReturnType<typeof call>>, 'running'>;
  expect(stdout.head).toMatch(new RegExp(`^ *1 [a-z_0-9]+\n${kept.length + 1}\n$`));
});
