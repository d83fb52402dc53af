import { callId, sandboxId, type SandboxId } from '#src/model/ids.ts';
import { describe, expect, test } from 'vitest';
import {
  admitOf,
  claimOf,
  drainingOf,
  gradeAsk,
  held,
  keyOf,
  minute,
  recordOf,
  sandboxOf,
  settlementOf,
  worldOfTests,
} from './world.ts';

const world = worldOfTests(2);

const key = keyOf('a');
const begin = () => world.fleet.grades.begin(key, gradeAsk());
const score = (turn: number, value: number) => world.fleet.grades.score(key, turn, value, {});

describe('the begin of a grading', () => {
  test('refuses new call ids from then on, while recorded ones get their record', async () => {
    const rollout = await world.active('a');
    expect(await begin()).toMatchObject({ kind: 'run', turn: 1, rollout: { state: 'grading' } });
    const late = await world.fleet.calls.admit(admitOf(rollout, 'call-2'));
    expect(late).toMatchObject({ kind: 'barred', code: 'rollout_closed' });
    expect((await world.fleet.calls.admit(admitOf(rollout, 'call-1'))).kind).toBe('in_journal');
  });

  test('waits for dispatched calls, and lets no new ones in meanwhile', async () => {
    const rollout = await world.running('a');
    expect(await begin()).toEqual({ kind: 'wait', for: 'calls' });
    expect((await world.fleet.calls.admit(admitOf(rollout, 'call-2'))).kind).toBe('barred');
    await world.fleet.calls.settle(settlementOf(key, 'call-1'));
    expect((await begin()).kind).toBe('run');
  });

  test('waits for a read, but not for one whose gateway is probably gone', async () => {
    const rollout = await world.active('a');
    const read = { call: callId('corral get_file 1'), tool: 'get_file', digest: 'get_file', budget: null };
    await world.fleet.calls.admit({ ...admitOf(rollout, 'call-2'), ...read });
    expect(await begin()).toEqual({ kind: 'wait', for: 'calls' });
    await world.step(minute / 2);
    expect((await begin()).kind).toBe('run');
  });

  test('asked twenty times at once runs one grader', async () => {
    await world.active('a');
    const kinds = (await Promise.all(Array.from({ length: 20 }, begin))).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'run')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'wait')).toHaveLength(19);
  });

  test('whose answer was lost is given to who took it again, with its whole time, and to nobody else', async () => {
    await world.active('a');
    const ask = gradeAsk();
    expect(await world.fleet.grades.begin(key, ask)).toMatchObject({ kind: 'run', turn: 1 });
    await world.step(minute);
    expect(await world.fleet.grades.begin(key, ask)).toMatchObject({ kind: 'run', turn: 1 });
    await world.step(30 * minute - 1);
    expect(await begin()).toEqual({ kind: 'wait', for: 'grader' });
    expect(await score(1, 1)).toEqual({ first: true, score: 1 });
    expect(await world.fleet.grades.begin(key, ask)).toMatchObject({ kind: 'scored', score: 1 });
  });

  test('is barred by a taint with its code: the grader is a veto', async () => {
    const rollout = await world.active('a');
    await world.fleet.lifecycle.lose(sandboxOf(rollout), null, 'preempted', {});
    expect(await begin()).toMatchObject({ kind: 'barred', code: 'sandbox_lost' });
  });

  test('is barred when the rollout was finished without a score, or is unknown', async () => {
    await world.active('a');
    await world.fleet.lifecycle.close(key, 'finished');
    expect(await begin()).toMatchObject({ kind: 'barred', code: 'rollout_closed' });
    expect(await world.fleet.grades.begin(keyOf('nobody'), gradeAsk())).toEqual({
      kind: 'barred',
      code: 'rollout_unknown',
      first: false,
      rollout: null,
    });
  });

  test('of a rollout without calls leaves its line or keeps its fresh sandbox', async () => {
    const rollout = await held(world.fleet, claimOf('a'));
    expect(await begin()).toMatchObject({ kind: 'run', rollout: { epoch: rollout.epoch } });
    await world.step(60_000);
    expect(await world.fleet.lifecycle.takeBackGrants(30_000)).toBe(0);
  });

  test('of a rollout that stands in line is put off where its grader needs a sandbox, and is not where it needs none', async () => {
    await world.active('b');
    await world.active('c');
    expect(await world.fleet.claims.claim(claimOf('a'))).toMatchObject({ kind: 'waiting' });
    expect(await world.fleet.grades.begin(key, gradeAsk({ inSandbox: true }))).toEqual({ kind: 'waiting' });
    expect(await begin()).toMatchObject({ kind: 'run', rollout: { state: 'grading', epoch: null } });
  });

  test('of a rollout that was given another sandbox than the one it was seen in is put off', async () => {
    const { epoch } = await held(world.fleet, claimOf('a'));
    const begun = (seenIn: SandboxId | null) =>
      world.fleet.grades.begin(key, gradeAsk({ inSandbox: true, seenIn }));
    expect(await begun(sandboxId('the-one-before'))).toEqual({ kind: 'waiting' });
    expect(await begun(epoch?.sandbox ?? null)).toMatchObject({ kind: 'run', turn: 1 });
  });

  test('goes to another turn when the process that graded died and its time is up', async () => {
    await world.active('a');
    await begin();
    await world.step(30 * minute - 1);
    expect(await begin()).toEqual({ kind: 'wait', for: 'grader' });
    await world.step(1);
    expect(await begin()).toMatchObject({ kind: 'run', turn: 2 });
  });
});

describe('a score', () => {
  test('is stored once and never computed again', async () => {
    await world.active('a', { face: 'native' });
    await begin();
    expect(await score(1, 0.1 + 0.2)).toEqual({ first: true, score: 0.1 + 0.2 });
    expect(await score(1, 0.9)).toEqual({ first: false, score: 0.1 + 0.2 });
    expect(await begin()).toMatchObject({ kind: 'scored', score: 0.1 + 0.2 });
  });

  test('closes the rollout on the RFT face and destroys its sandbox; a repeat still gets it', async () => {
    const rollout = await world.active('a');
    await begin();
    await score(1, 1);
    const record = await recordOf(world.fleet, key);
    expect(record).toMatchObject({ state: 'closed', closedBy: 'scored', score: 1 });
    expect(await drainingOf(world.fleet)).toEqual([sandboxOf(rollout)]);
    expect(await begin()).toMatchObject({ kind: 'scored', score: 1 });
  });

  test('leaves a native rollout open until it is finished', async () => {
    await world.active('a', { face: 'native' });
    await begin();
    await score(1, 1);
    expect((await recordOf(world.fleet, key)).state).toBe('grading');
  });

  test('never follows a taint: what comes after it is void', async () => {
    const rollout = await world.active('a');
    await begin();
    await world.fleet.lifecycle.lose(sandboxOf(rollout), null, 'node_lost', {});
    await expect(score(1, 1)).rejects.toMatchObject({ code: 'sandbox_lost' });
    expect((await recordOf(world.fleet, key)).score).toBeNull();
  });

  test('after a delete is void', async () => {
    await world.active('a');
    await begin();
    await world.fleet.lifecycle.close(key, 'deleted');
    await expect(score(1, 1)).rejects.toMatchObject({ code: 'rollout_closed' });
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('of %s is grader_failed', async (value) => {
    await world.active('a');
    await begin();
    await expect(score(1, value)).rejects.toMatchObject({ code: 'grader_failed' });
  });
});

const fail = (turn: number) => world.fleet.grades.failed(key, turn, { error: 'judge is down' });

describe('a failed grader', () => {
  test('may run three times, then the rollout is barred with grader_failed', async () => {
    await world.active('a');
    for (const left of [2, 1, 0]) {
      const begun = await begin();
      if (begun.kind !== 'run') throw new Error(begun.kind);
      expect(await fail(begun.turn)).toMatchObject({ turnsLeft: left });
    }
    expect(await begin()).toMatchObject({ kind: 'barred', code: 'grader_failed' });
  });

  test.each([1, 2, 3])('is marked if turn %s may have failed for what the policy did', async (suspected) => {
    await world.active('a');
    for (const turn of [1, 2, 3]) {
      await begin();
      const evidence = turn === suspected ? { suspected: 'command' } : { code: 'capacity_timeout' };
      await world.fleet.grades.failed(key, turn, evidence);
    }
    expect(await recordOf(world.fleet, key)).toMatchObject({
      discarded: { code: 'grader_failed', suspected: 'command' },
    });
  });

  test('of an earlier turn does not end the one that runs', async () => {
    await world.active('a');
    await begin();
    await world.step(30 * minute);
    await begin();
    await fail(1);
    expect(await begin()).toEqual({ kind: 'wait', for: 'grader' });
  });
});
