import { getSystemErrorName } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { mostKeptCharacters } from '../ports/kept-rollouts.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import { endOfTar, readTar, tarHeader } from '../protocol/sandboxd/tar.ts';
import { Deadline } from '../waiting/deadline.ts';
import { type Artifact, artifactsToKeep, takeArtifacts, tarOf } from './artifacts.ts';

const nobodyAsks = () => Promise.reject(new Error('nobody asks'));

/** What comes of it when the sandbox of a rollout answers so. */
async function takeFrom(answer: () => Promise<AsyncIterable<Uint8Array>>) {
  const clock = createFakeClock();
  const deps = {
    clock,
    random: createFakeRandom(),
    claims: { find: nobodyAsks },
    lifecycle: { lose: nobodyAsks },
    link: { takeArtifacts: answer },
  };
  const job = { rollout: fakeRollout({ state: 'grading' }), turn: 1, deadline: Deadline.in(clock, 60_000) };
  const taken = takeArtifacts(deps, job, { paths: ['src/'], mostBytes: 100 });
  // Whoever fails while time goes on is heard of below.
  await Promise.race([taken.catch(() => undefined), clock.advance(10_000)]);
  return taken;
}

const refusing = (code: string, errno: string) => () =>
  Promise.reject(new LinkError({ kind: 'refused', status: 422, code, message: 'why', errno }));

async function* chunks(...all: readonly Uint8Array[]) {
  yield* all;
}

const header = (path: string, bytes = 0) => tarHeader({ path, kind: 'file', mode: 0o644, mtimeS: 1, bytes });

describe('what the policy made of its artifacts has a score, and is no discard', () => {
  test.each([
    ['file_error', 'ENOENT', 'artifacts'],
    ['file_error', 'EFBIG', 'artifacts'],
    ['file_error', 'ENAMETOOLONG', 'artifacts'],
    ['file_error', 'EACCES', 'artifacts'],
    ['file_error', 'SIGKILL', 'broken'],
    ['internal', 'EAGAIN', 'broken'],
  ])('%s %s is %s', async (code, errno, how) => {
    expect(await takeFrom(refusing(code, errno))).toMatchObject({ kind: 'bad', how });
  });

  test('a helper that died once, as one does where the machine was short of memory, is no word about the policy', async () => {
    const kill = refusing('file_error', 'SIGKILL');
    let asked = 0;
    const taken = takeFrom(() => {
      asked += 1;
      return asked === 1 ? kill() : Promise.resolve(chunks(header('src/a'), endOfTar));
    });
    expect(await taken).toMatchObject({ kind: 'taken', files: [{ path: 'src/a' }] });
    expect(asked).toBe(2);
  });

  test('an archive that was cut off is a sandbox that the policy filled', async () => {
    const cut = takeFrom(() => Promise.resolve(chunks(header('src/a', 3), Buffer.from('ab'))));
    expect(await cut).toMatchObject({ kind: 'bad', how: 'broken' });
  });
});

test.each([
  ['a disk that fails', refusing('file_error', 'EIO'), 'grader_failed'],
  ['a file that is gone from its server', refusing('file_error', getSystemErrorName(-116)), 'grader_failed'],
  ['a disk whose structure is broken', refusing('file_error', getSystemErrorName(-117)), 'grader_failed'],
  ['a disk that does not answer', refusing('file_error', 'ETIMEDOUT'), 'grader_failed'],
  ['processes that cannot be killed', refusing('file_error', 'EBUSY'), 'grader_failed'],
  ['a reader that who has its id may have stopped', refusing('file_error', 'SIGSTOP'), 'grader_failed'],
  ['a reader that is lost in a sandbox that was not full', refusing('file_error', 'LOST'), 'grader_failed'],
  ['a helper that is not there', refusing('internal', 'ENOENT'), 'grader_failed'],
  ['a sandboxd of before', refusing('not_found', ''), 'grader_failed'],
  [
    'more than was asked for, in names alone',
    () => Promise.resolve(chunks(header('n'.repeat(99)), header('mm'), endOfTar)),
    'unclassified',
  ],
  ['a path that leads out', () => Promise.resolve(chunks(header('../a'), endOfTar)), 'unclassified'],
])('%s is the machinery’s failure and never a score', async (_what, answer, code) => {
  await expect(takeFrom(answer)).rejects.toMatchObject({ code });
});

test('artifacts go on as they came: names, bytes and whether they can be run', async () => {
  const files: readonly Artifact[] = [
    { path: 'src/a b.sh', executable: true, mtimeS: 1, bytes: Buffer.from('echo') },
    { path: `deep/${'x'.repeat(150)}/ü`, executable: false, mtimeS: 2, bytes: Buffer.alloc(1_000, 255) },
    { path: 'empty', executable: false, mtimeS: 3, bytes: Buffer.alloc(0) },
  ];
  const read = await Array.fromAsync(readTar(tarOf(files)), async ({ path, mode, mtimeS, content }) => ({
    path,
    executable: (mode & 0o111) !== 0,
    mtimeS,
    bytes: Buffer.concat(await Array.fromAsync(content)),
  }));
  expect(read).toEqual(files);
});

const file = (path: string, bytes: Buffer): Artifact => ({ path, executable: true, mtimeS: 7, bytes });
const kept = (...files: readonly Artifact[]) => artifactsToKeep(['src/'], { kind: 'taken', files });

test('artifacts are kept with the names that were asked for, bytes as they were', () => {
  expect(JSON.parse(kept(file('src/a', Buffer.from([0, 255]))))).toEqual({
    kind: 'taken',
    names: ['src/'],
    files: [{ path: 'src/a', executable: true, mtime_s: 7, base64: 'AP8=' }],
  });
});

test.each([
  ['a byte too many', [file('src/a', Buffer.alloc(8 * 1024 * 1024 + 1))]],
  ['paths of megabytes', Array.from({ length: 4096 }, () => file('\u0001'.repeat(600), Buffer.alloc(0)))],
])('%s: none of them are kept, and the line is short', (_what, files) => {
  const text = kept(...files);
  expect(JSON.parse(text)).toMatchObject({ kind: 'none' });
  expect(text.length).toBeLessThan(1000);
});

test('as many bytes as may be find room', () => {
  const text = kept(file('src/a', Buffer.alloc(8 * 1024 * 1024)));
  expect(JSON.parse(text)).toMatchObject({ kind: 'taken' });
  expect(text.length).toBeLessThanOrEqual(mostKeptCharacters);
});

test('what the policy broke is kept as its reason, however long', () => {
  const broken = { kind: 'bad', how: 'artifacts', reason: 'src is a link '.repeat(1000) } as const;
  expect(artifactsToKeep(['src/'], broken).length).toBeLessThan(1000);
});
