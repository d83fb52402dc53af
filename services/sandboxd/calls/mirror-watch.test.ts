import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { formatMirrorTally, type MirrorTally, nothingAsked } from '#src/protocol/sandboxd/mirror-tally.ts';
import type { CallRequest } from '#src/protocol/sandboxd/wire.ts';
import { watchMirrors } from './mirror-watch.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-watch-'));
  file = join(folder, 'mirrors.json');
});
afterEach(() => rm(folder, { recursive: true }));

/** Whole, as node writes it: a reader never meets an empty file. */
async function write(tally: MirrorTally): Promise<void> {
  await writeFile(`${file}.new`, formatMirrorTally(tally, 1));
  await rename(`${file}.new`, file);
}
const request = (user?: 'grader'): CallRequest => ({
  digest: 'c1',
  action: { kind: 'exec', argv: ['true'], ...(user && { user }) },
  timeoutMs: 1,
  keepBytes: 1,
});
const { policy, grader } = nothingAsked;
const waits = { longestMs: 100, commandsOpenMs: 10 };

test('a call that asked for nothing has no evidence of mirrors', async () => {
  await write(nothingAsked);
  expect(await (await watchMirrors(file, request())).end()).toEqual({});
});

test('a request that was under way when the call started counts as asked, and its failure counts', async () => {
  await write({ ...nothingAsked, policy: { ...policy, asked: 3, underWay: 1 } });
  const watch = await watchMirrors(file, request());
  await write({ ...nothingAsked, policy: { ...policy, asked: 3, failed: 1, confirmed: 1 } });
  expect(await watch.end()).toMatchObject({ mirrors: { asked: 1, failed: 1, confirmed: 1 } });
});

test('a refusal or a loss counts also if the call asked for nothing', async () => {
  await write(nothingAsked);
  const watch = await watchMirrors(file, request());
  await write({ ...nothingAsked, policy: { ...policy, refused: 1 } });
  expect(await watch.end()).toMatchObject({ mirrors: { asked: 0, refused: 1 } });
});

test("a grader's call has its own counts, and of the policy's only confirmed failures", async () => {
  await write(nothingAsked);
  const watch = await watchMirrors(file, request('grader'));
  const counts = { asked: 9, failed: 9, confirmed: 2, refused: 9, lost: 9 };
  await write({ ...nothingAsked, policy: { ...policy, ...counts }, grader: { ...grader, asked: 1 } });
  expect(await watch.end()).toMatchObject({
    mirrors: { asked: 1, failed: 0, confirmed: 2, refused: 0, lost: 0 },
  });
});

test.each(['', '[1,{},2]', 'gone'])(
  'without a tally that can be read (%j) the call says that requests were lost',
  async (text) => {
    await write(nothingAsked);
    const watch = await watchMirrors(file, request());
    if (text === 'gone') await rm(file);
    else await writeFile(file, text);
    expect(await watch.end()).toMatchObject({ mirrors: { lost: 1 } });
  },
);

test("a grader's connection that its proxy left open counts once node has noticed the death", async () => {
  await write(nothingAsked);
  const watch = await watchMirrors(file, request('grader'));
  await write({ ...nothingAsked, grader: { ...grader, asked: 1, open: 1, underWay: 1 } });
  const ended = watch.end();
  await write({ ...nothingAsked, grader: { ...grader, asked: 1, lost: 1 } });
  expect(await ended).toMatchObject({ mirrors: { asked: 1, lost: 1 } });
});

test('a connection that stays open is lost with a grader, and no matter of a command', async () => {
  const open = { asked: 1, open: 1, underWay: 1 };
  await write(nothingAsked);
  const [ofGrader, ofCommand] = [
    await watchMirrors(file, request('grader'), waits),
    await watchMirrors(file, request(), waits),
  ];
  await write({ ...nothingAsked, policy: { ...policy, ...open }, grader: { ...grader, ...open } });
  const [graded, ran] = await Promise.all([ofGrader.end(), ofCommand.end()]);
  expect([graded.mirrors?.lost, ran.mirrors?.lost]).toEqual([1, 0]);
});

test('a failure that is not probed in time counts as lost', async () => {
  await write(nothingAsked);
  const watch = await watchMirrors(file, request(), waits);
  await write({ ...nothingAsked, undecided: 1, policy: { ...policy, asked: 1, failed: 1 } });
  expect(await watch.end()).toMatchObject({ mirrors: { failed: 1, lost: 1 } });
});
