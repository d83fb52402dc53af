import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';
import { endOfTar, tarHeader } from '../protocol/sandboxd/tar.ts';
import { Deadline } from '../waiting/deadline.ts';
import { attachFiles } from './attachments.ts';

const nobodyAsks = () => Promise.reject(new Error('nobody asks'));

/** What comes of it when the sandbox answers so, and how often it was asked. */
async function attachFrom(answer: (asked: number) => Promise<AsyncIterable<Uint8Array>>) {
  const clock = createFakeClock();
  let asked = 0;
  const deps = {
    clock,
    random: createFakeRandom(),
    claims: { find: nobodyAsks },
    lifecycle: { lose: nobodyAsks },
    link: { getFile: () => answer((asked += 1)) },
  };
  const job = { rollout: fakeRollout({ state: 'grading' }), deadline: Deadline.in(clock, 60_000) };
  const attached = attachFiles(deps, job, { paths: ['plot.png'], mostBytes: 100, onBad: 0 });
  // Whoever fails while time goes on is heard of below.
  await Promise.race([attached.catch(() => undefined), clock.advance(10_000)]);
  return { attached: await attached, asked };
}

const refusing = (code: string, errno: string) => () =>
  Promise.reject(new LinkError({ kind: 'refused', status: 422, code, message: 'why', errno }));

async function* chunks(...all: readonly Uint8Array[]) {
  yield* all;
}

const header = (bytes: number) =>
  tarHeader({ path: 'plot.png', kind: 'file', mode: 0o644, mtimeS: 1, bytes });

describe('what the policy made of the files that a judge is to see has a score, and is no discard', () => {
  test.each([
    ['file_error', 'EACCES'],
    ['file_error', 'EFBIG'],
    ['file_error', 'SIGKILL'],
    ['internal', 'EAGAIN'],
  ])('%s %s', async (code, errno) => {
    expect((await attachFrom(refusing(code, errno))).attached).toMatchObject({ kind: 'bad', reason: 'why' });
  });

  test('an archive that is cut off each time', async () => {
    const cut = await attachFrom(() => Promise.resolve(chunks(header(3), Buffer.from('ab'))));
    expect(cut).toMatchObject({ attached: { kind: 'bad' }, asked: 3 });
  });
});

/** As a process in place of the helper would send it; it ends, so that a reader without a bound fails and does not run for ever. */
async function* endless(piece: Uint8Array) {
  for (let sent = 0; sent < 10_000; sent += 1) yield piece;
}

describe('an archive without end is the policy’s doing, and is read for no longer than its bound', () => {
  test.each([
    ['of the file that is meant, again and again', header(0)],
    ['of other files', tarHeader({ path: 'other', kind: 'file', mode: 0o644, mtimeS: 1, bytes: 0 })],
    [
      'of names that belong to no file',
      tarHeader({ path: 'x'.repeat(200), kind: 'file', mode: 0o644, mtimeS: 1, bytes: 0 }).subarray(0, 1_024),
    ],
    ['behind its end mark', endOfTar],
  ])('%s', async (_what, piece) => {
    const { attached, asked } = await attachFrom(() => Promise.resolve(endless(piece)));
    expect(attached).toMatchObject({ kind: 'bad', how: 'artifacts' });
    expect(asked).toBe(1);
  });
});

test('a helper that died once, as one does where the machine was short of memory, is no word about the policy', async () => {
  const kill = refusing('file_error', 'SIGKILL');
  const once = await attachFrom((asked) =>
    asked === 1 ? kill() : Promise.resolve(chunks(header(0), endOfTar)),
  );
  expect(once).toMatchObject({
    attached: { kind: 'taken', files: [{ path: 'plot.png' }] },
    asked: 2,
  });
});

test('a file that is not there is told to the judge', async () => {
  const { attached } = await attachFrom(refusing('file_error', 'ENOENT'));
  expect(attached).toEqual({ kind: 'taken', files: [], missing: ['plot.png'] });
});

test.each([
  ['a disk that fails', refusing('file_error', 'EIO')],
  ['a helper that is not there', refusing('internal', 'ENOENT')],
])('%s beneath the sandbox is no doing of the policy: there is no score', async (_what, answer) => {
  await expect(attachFrom(answer)).rejects.toMatchObject({ code: 'grader_failed' });
});

test('the sandbox hears how long the turn still waits for the files, at most six minutes', async () => {
  const clock = createFakeClock();
  const waited: (number | undefined)[] = [];
  const deps = {
    clock,
    random: createFakeRandom(),
    claims: { find: nobodyAsks },
    lifecycle: { lose: nobodyAsks },
    link: {
      getFile: async (...asked: Parameters<SandboxLink['getFile']>) => {
        waited.push(asked[3]);
        return chunks(endOfTar);
      },
    },
  };
  for (const leftMs of [30_000, 3_600_000]) {
    const job = { rollout: fakeRollout({ state: 'grading' }), deadline: Deadline.in(clock, leftMs) };
    await attachFiles(deps, job, { paths: ['plot.png'], mostBytes: 100, onBad: 0 });
  }
  expect(waited).toEqual([30_000, 360_000]);
});
