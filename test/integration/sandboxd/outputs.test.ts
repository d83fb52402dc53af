import { afterAll, beforeAll, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import type { CallAnswer, OutputStream } from '#src/protocol/sandboxd/wire.ts';
import { aBind, aShellCall, startSandboxd, type TestSandboxd, ofRollout } from '#test/support/sandboxd.ts';

const mebibyte = 1024 * 1024;
const most = 10 * mebibyte;
const { signal } = new AbortController();

let sandboxd: TestSandboxd;
beforeAll(async () => {
  sandboxd = await startSandboxd();
  await sandboxd.link.bind(sandboxd.target, aBind(), signal);
});
afterAll(() => sandboxd.stop());

async function run(id: string, command: string): Promise<CallAnswer> {
  const call = { ...aShellCall(command, { keepBytes: 1000 }), outputBytes: most };
  const answer = await sandboxd.link.call(sandboxd.target, callId(id), call, 60_000, signal);
  if (answer === 'running') throw new Error(`${id} still runs`);
  return answer;
}

async function output(id: string, stream: OutputStream): Promise<Buffer> {
  const bytes = await sandboxd.link.output(sandboxd.target, callId(id), stream, signal);
  return Buffer.concat(await Array.fromAsync(bytes));
}

const gone = (asked: Promise<unknown>) =>
  asked.catch((error: unknown) => (error instanceof LinkError ? error.trouble : error));
const hadToMakeWay = { kind: 'refused', status: 410, code: 'answer_confirmed' };

it('output that is too long for its answer is kept whole, also after the call is settled', async () => {
  const answer = await run('large', `head -c 3000000 /dev/zero | tr '\\0' x; echo end; echo small >&2`);
  expect(answer).toMatchObject({ kept: { stdout: 3_000_004, stderr: 6 } });
  expect(answer.stdout).toMatchObject({ totalBytes: 3_000_004, cutBytes: 2_999_004, head: 'x'.repeat(500) });
  expect(answer.stdout.tail).toMatch(/^x{496}end\n$/);
  sandboxd.link.settled(ofRollout(sandboxd.target), [callId('large')]);
  await sandboxd.link.attach(ofRollout(sandboxd.target), callId('large'), 0, signal);
  const stdout = await output('large', 'stdout');
  expect(stdout.toString()).toBe(`${'x'.repeat(3_000_000)}end\n`);
  expect((await output('large', 'stderr')).toString()).toBe('small\n');
});

it('beyond the most, head and tail stay, and every byte was counted', async () => {
  const answer = await run('flood', `printf first; head -c ${3 * most} /dev/zero; printf last`);
  expect(answer).toMatchObject({ kept: { stdout: most, stderr: 0 }, stdout: { totalBytes: 3 * most + 9 } });
  const stdout = await output('flood', 'stdout');
  expect(stdout).toHaveLength(most);
  expect(stdout.subarray(0, 5).toString()).toBe('first');
  expect(stdout.subarray(-4).toString()).toBe('last');
});

it('what fits into the answer is kept nowhere else', async () => {
  expect(await run('small', 'echo hi')).not.toHaveProperty('kept');
  expect(await gone(output('small', 'stdout'))).toMatchObject(hadToMakeWay);
});

it('what ended first makes way for what begins, and says so', async () => {
  for (const id of ['next', 'third', 'last'])
    await run(id, `head -c ${2 * most} /dev/zero; head -c ${2 * most} /dev/zero >&2`);
  expect(await gone(output('large', 'stdout'))).toMatchObject(hadToMakeWay);
  expect(await output('last', 'stderr')).toHaveLength(most);
});

it('a third at the same time keeps what an answer carries, and says that it was cut', async () => {
  const held = ['held-1', 'held-2'].map((id) => run(id, 'sleep 2'));
  await expect
    .poll(async () => {
      const { calls } = await sandboxd.link.identity(sandboxd.target, signal);
      return calls.filter(({ callId: id, state }) => id.startsWith('held') && state === 'running').length;
    })
    .toBe(2);
  const third = await run('beside', 'head -c 5000 /dev/zero');
  expect(third).not.toHaveProperty('kept');
  expect(third.stdout).toMatchObject({ totalBytes: 5000, cutBytes: 4000 });
  await Promise.all(held);
});

/** Each byte that there is; a quarter of them is not UTF-8 in any order. */
const everyByte = Uint8Array.from({ length: 256 }, (_, at) => at);

it('bytes that are not UTF-8 go in and come out as they are', async () => {
  const base64 = Buffer.from(everyByte).toString('base64');
  const call = { ...aShellCall('cat; printf "\\377" >&2', { stdin: { base64 } }), binary: true } as const;
  const answer = await sandboxd.link.call(sandboxd.target, callId('bytes'), call, 60_000, signal);
  expect(answer).toMatchObject({
    stdout: { totalBytes: 256 },
    base64: { stdout: { head: base64, tail: '' }, stderr: { head: '/w==', tail: '' } },
  });
});

it('of bytes beyond the limit head and tail stay as they are', async () => {
  const shell = aShellCall('head -c 300 /dev/zero; printf "\\376\\377"', { keepBytes: 4 });
  const call = { ...shell, binary: true } as const;
  const answer = await sandboxd.link.call(sandboxd.target, callId('cut-bytes'), call, 60_000, signal);
  expect(answer).toMatchObject({
    stdout: { totalBytes: 302, cutBytes: 298 },
    base64: { stdout: { head: 'AAA=', tail: '/v8=' } },
  });
});
