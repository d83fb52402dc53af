import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { mostAnsweredBytes } from '#src/protocol/sandboxd/wire.ts';
import { aBind, aShellCall, startSandboxd, type TestSandboxd, ofRollout } from '#test/support/sandboxd.ts';

const mebibyte = 1024 * 1024;
/** What gateways ask an answer to keep of each stream at most. */
const answerBytes = mostAnsweredBytes;
/** What the journal of one life may hold: 8 MiB, and as much as the latest 16 answers may have; see `daemon.ts`. */
const most = (8 * mebibyte) / (2 * answerBytes) + 16;

let sandboxd: TestSandboxd;
beforeAll(async () => {
  sandboxd = await startSandboxd();
  await sandboxd.link.bind(sandboxd.target, aBind(), AbortSignal.timeout(60_000));
});
afterAll(() => sandboxd.stop());

/** Prints a whole answer's worth on both streams, and leaves a trace of having run. */
const call = (id: string, waitMs = 15_000) =>
  sandboxd.link.call(
    sandboxd.target,
    callId(id),
    aShellCall(`echo ${id} >> ran; head -c ${answerBytes} /dev/zero | tr '\\0' x | tee /dev/stderr`, {
      keepBytes: answerBytes,
    }),
    waitMs,
    AbortSignal.timeout(60_000),
  );

const stateOf = async (id: string) => {
  const { calls } = await sandboxd.link.identity(sandboxd.target, AbortSignal.timeout(60_000));
  return calls.find((each) => each.callId === id)?.state;
};

it('never evicts answers that are not settled; the next call waits without running, and runs when an old one is', async () => {
  // Without the bytes that each costs besides, there would be room for one more.
  const kept = Array.from({ length: most - 1 }, (_, number) => `kept_${number}`);
  for (const id of kept) expect(await call(id)).toMatchObject({ stdout: { totalBytes: answerBytes } });

  expect(await call('late', 0)).toBe('running');
  const waiting = call('late');
  // Long enough for a call that did not wait: the others took some ten milliseconds each.
  expect(await Promise.race([waiting, sleep(500, 'waits')])).toBe('waits');
  expect(await stateOf('late')).toBe('received');
  expect(await call('kept_0')).toMatchObject({ stdout: { totalBytes: answerBytes } });
  const askedFor: string[] = [];
  sandboxd.link.onUnsettled((_, calls) => void askedFor.push(...calls));
  const asks = async () => {
    await call('kept_0');
    return askedFor[0];
  };
  await expect.poll(asks, { timeout: 15_000, interval: 500 }).toBe('kept_0');

  const own = ofRollout(sandboxd.target);
  sandboxd.link.settled(own, [callId('kept_0')]);
  await sandboxd.link.attach(own, callId('kept_0'), 0, AbortSignal.timeout(60_000)).catch(() => undefined);
  // A request is not held for long while its call waits for room.
  await waiting;
  expect(await call('late')).toMatchObject({ stdout: { totalBytes: answerBytes } });
  await expect(call('kept_0')).rejects.toMatchObject({ trouble: { code: 'answer_confirmed' } });
  const { stdout } = (await sandboxd.link.call(
    sandboxd.target,
    callId('count'),
    aShellCall('sort ran | uniq -c | sort -rn | head -1; wc -l < ran', { keepBytes: 1024 }),
    5_000,
    AbortSignal.timeout(60_000),
  )) as Exclude<Awaited<ReturnType<typeof call>>, 'running'>;
  expect(stdout.head).toMatch(new RegExp(`^ *1 [a-z_0-9]+\n${kept.length + 1}\n$`));
});
