import { expect, test } from 'vitest';
import { callId, rolloutId } from '#src/model/ids.ts';
import { taskDigest } from '#src/model/requirements.ts';
import { caller, CoreWorld, plain } from '#test/support/core-world.ts';

const native = { ...caller, face: 'native' } as const;
const readOnly = { folders: [{ index: 0, path: '/app', errno: 'EROFS' }] } as const;
const task = taskDigest('a'.repeat(64));

const run = (world: CoreWorld, rollout: string, call: string) =>
  world.wired.core.exec(native, {
    rollout: { rollout: rolloutId(rollout), attempt: null },
    call: callId(call),
    argv: ['sh', '-c', 'echo ran'],
    timeoutMs: 1_000,
    waitMs: world.waitMs,
  });

const view = (world: CoreWorld, rollout: string) =>
  world.wired.core.view(native, { rollout: rolloutId(rollout), attempt: null });

test('a workdir that two fresh sandboxes cannot write refuses the rollout before its first call', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.ready();
  world.link.lacks = readOnly;
  await world.open('r1', { requirements: { sandbox: { workdir: '/app' } } });
  const evidence = { requirement: 'workdir', wanted: expect.stringContaining('/app') };
  const unmet = { code: 'requirements_unmet', blame: 'caller', admitted: 'no', evidence };
  await expect(run(world, 'r1', 'c1')).rejects.toMatchObject(unmet);
  expect(world.link.ran).toEqual([]);
  expect(world.link.binds).toHaveLength(2);
  expect(await world.sandboxesHeld()).toBe(0);

  const { record, verdict } = await view(world, 'r1');
  expect(verdict).toEqual({ kind: 'discard', code: 'requirements_unmet' });
  expect(record).toMatchObject({ state: 'closed', closedBy: 'refused', score: null });
  expect(world.events.filter(({ kind }) => kind === 'verdict')).toMatchObject([
    { verdict: { code: 'requirements_unmet' }, evidence: { requirement: 'workdir' } },
  ]);
});

test('a repeat, another call and the grader get the same refusal, and no score', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.ready();
  world.link.lacks = readOnly;
  await world.open('r1', { item: { id: 'item-1', answer: 'yes' } });
  const unmet = { code: 'requirements_unmet', evidence: { requirement: 'workdir' } };
  await expect(run(world, 'r1', 'c1')).rejects.toMatchObject(unmet);
  await expect(run(world, 'r1', 'c1')).rejects.toMatchObject(unmet);
  await expect(run(world, 'r1', 'c2')).rejects.toMatchObject(unmet);
  const graded = world.wired.core.grade(native, {
    rollout: { rollout: rolloutId('r1'), attempt: null },
    open: null,
    sample: '{"output_text":"yes"}',
    waitMs: world.waitMs,
  });
  await expect(graded).rejects.toMatchObject(unmet);
});

test('what only one sandbox shows is the machine’s: the rollout goes on in another', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.ready();
  world.link.lacks = (sandbox) => (sandbox === 'sb-1' ? readOnly : null);
  await world.open('r1');
  expect(await run(world, 'r1', 'c1')).toMatchObject({ outcome: 'completed' });
  expect((await view(world, 'r1')).verdict).toEqual({ kind: 'scorable' });
});

test('a later rollout of the template is refused by its first sandbox: another one has shown the same', async () => {
  await using world = await CoreWorld.start();
  for (let count = 0; count < 3; count += 1) await world.ready();
  world.link.lacks = readOnly;
  await world.open('r1');
  await expect(run(world, 'r1', 'c1')).rejects.toMatchObject({ code: 'requirements_unmet' });
  await world.open('r2');
  await expect(run(world, 'r2', 'c1')).rejects.toMatchObject({ code: 'requirements_unmet' });
  expect(world.link.binds).toHaveLength(3);
});

test('a demand that the environment cannot meet is refused at open, and nothing is opened', async () => {
  await using world = await CoreWorld.start();
  const requirements = { sandbox: null, amounts: { memoryBytes: 128 * 1024 ** 4 } };
  const unmet = { code: 'requirements_unmet', evidence: { requirement: 'memory' } };
  await expect(world.open('r1', { requirements })).rejects.toMatchObject(unmet);
  await expect(view(world, 'r1')).rejects.toMatchObject({ code: 'rollout_unknown' });
});

test('a task whose controls failed is refused at open, until it is proven again', async () => {
  await using world = await CoreWorld.start();
  const { core } = world.wired;
  const of = { environment: plain, task, holder: 'trainer-1' };
  const asked = { leaseMs: 60_000, again: false };
  expect(await core.askControl(native, of, asked)).toEqual({ standing: 'play' });
  await core.concludeControl(native, of, { standing: 'refused', reason: 'pytest: command not found' });
  const requirements = { sandbox: null, task };
  const evidence = { requirement: 'reward', given: expect.stringContaining('pytest: command not found') };
  await expect(world.open('r1', { requirements })).rejects.toMatchObject({
    code: 'requirements_unmet',
    evidence,
  });
  await core.askControl(native, of, { ...asked, again: true });
  await core.concludeControl(native, of, { standing: 'proven' });
  expect((await world.open('r1', { requirements })).created).toBe(true);
});

test('a trainer ends a rollout whose task cannot run here: discarded, blame caller', async () => {
  await using world = await CoreWorld.start();
  await world.ready();
  await world.open('r1');
  await run(world, 'r1', 'c1');
  const unmet = { requirement: 'health_check', wanted: 'passes', given: 'exit 1', fix: 'repair it' } as const;
  const ref = { rollout: rolloutId('r1'), attempt: null };
  const { verdict } = await world.wired.core.refuse(native, ref, unmet);
  expect(verdict).toEqual({ kind: 'discard', code: 'requirements_unmet' });
  const refusal = { code: 'requirements_unmet', evidence: unmet };
  await expect(run(world, 'r1', 'c2')).rejects.toMatchObject(refusal);
  await world.wired.core.refuse(native, ref, unmet);
  expect(world.events.filter(({ kind }) => kind === 'verdict')).toHaveLength(1);
});
