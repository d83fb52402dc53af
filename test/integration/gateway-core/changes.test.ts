import { expect, test } from 'vitest';
import type { Grader } from '#src/model/grader.ts';
import { templateDigest } from '#src/model/ids.ts';
import { fakeTemplate } from '#test/fakes/environment.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { CoreWorld } from '#test/support/core-world.ts';

/* A grader of changes, whose two sandboxes are in memory: what the gateway makes of their listings, and what it holds meanwhile. */

const graderTemplate = fakeTemplate({ digest: templateDigest('template-g'), role: 'grader' });
const verifier = {
  kind: 'command',
  argv: ['verify'],
  files: {},
  timeoutMs: 1_000,
  onExit: 0,
  onTimeout: 0,
  onOutOfMemory: 0,
  onBroken: 0,
} as const;
const mebibyte = 1024 * 1024;
const changes = { below: ['/t'], except: [], mostFiles: 10 };
const ofChanges = {
  ...verifier,
  argv: ['verify-changes'],
  fresh: { artifacts: [], mostBytes: 64 * mebibyte, onArtifacts: 0.25, changes },
} as const;

async function worldOf(grader: Grader): Promise<CoreWorld> {
  const world = await CoreWorld.start({ grader, graderTemplate });
  const root = ['root', '/t', 0o755];
  world.link.listing = () => [['homes', ['/root']], root, ['end']];
  world.link.behaviour = ({ action }) =>
    answering(action.kind === 'grade' ? { grade: { kind: 'ran', score: '1' } } : {});
  return world;
}

async function played(world: CoreWorld, rollout: string): Promise<void> {
  await world.ready();
  await world.sh(rollout, 'call_1', 'echo');
}

const root = ['root', '/t', 0o755];
const file = (path: string) => ['file', path, 0o644, 0, 'e3b0c442'.repeat(8)];

test.each([
  ['lines that cannot be read', [root, ['file', '/t/a'], ['end']]],
  ['no homes first', null],
  ['entries out of their order', [root, file('/t/b'), file('/t/a'), ['end']]],
  ['an entry twice', [root, file('/t/a'), file('/t/a'), ['end']]],
  ['an entry in no folder', [root, file('/t/d/a'), ['end']]],
  ['an entry above the folders', [root, file('/s'), ['end']]],
  ['a path with ..', [root, file('/t/../a'), ['end']]],
  ['a folder of the comparison that is a file', [file('/t'), ['end']]],
  ['a folder of the comparison that is missing', [['end']]],
  ['a folder that was not asked for', [root, ['root', '/u', 0o755], ['end']]],
])('a listing of the policy’s sandbox with %s is a discard with its mark, at once', async (_what, lines) => {
  await using world = await worldOf(ofChanges);
  await played(world, 'trace_1');
  await world.ready(graderTemplate);
  const { listing } = world.link;
  world.link.listing = (turn) => {
    if (turn === null) return listing(turn);
    return lines === null ? [root, ['end']] : [['homes', []], ...lines];
  };
  const evidence = { suspected: 'command', errno: 'EBADMSG' };
  await expect(world.grade('trace_1', 'yes')).rejects.toMatchObject({ code: 'grader_failed', evidence });
});

test('its sandbox for the comparison is released before an earlier part of the grader runs', async () => {
  const parts = [verifier, ofChanges].map((grader) => ({ weight: 1, grader }));
  await using world = await worldOf({ kind: 'weighted', parts });
  await played(world, 'trace_1');
  await world.ready(graderTemplate);
  await world.ready(graderTemplate);
  const { behaviour } = world.link;
  const held: number[] = [];
  world.link.behaviour = async (request) => {
    held.push(await world.sandboxesHeld(graderTemplate));
    return behaviour(request);
  };
  expect(await world.grade('trace_1', 'yes')).toMatchObject({ score: 1 });
  expect(held).toEqual([0, 1]);
});

test('gradings that wait for a sandbox hold no memory that others need', async () => {
  await using world = await worldOf(ofChanges);
  const many = 6;
  const rollouts = Array.from({ length: many }, (_, index) => `trace_${index}`);
  for (const rollout of rollouts) await played(world, rollout);
  const graded = rollouts.map((rollout) => world.grade(rollout, 'yes'));
  await expect
    .poll(async () => (await world.state.pool.counts([graderTemplate.digest]))[0]?.waiting)
    .toBe(many);
  for (let each = 0; each < 2 * many; each += 1) await world.ready(graderTemplate);
  await Promise.all(graded);
});
