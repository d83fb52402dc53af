import { describe, expect, test } from 'vitest';
import { bootId, callId, sandboxId } from '#src/model/ids.ts';
import { noStory, readStory } from '#src/grading/story.ts';
import {
  admitOf,
  claimOf,
  drainingOf,
  gradeAsk,
  sandboxOf,
  held,
  keyOf,
  minute,
  recordOf,
  settlementOf,
  worldOfTests,
} from './world.ts';

const world = worldOfTests(3);

const admit = async (call: string, overrides = {}) =>
  world.fleet.calls.admit(admitOf(await recordOf(world.fleet, keyOf('a')), call, overrides));
const settle = (call: string, overrides = {}) =>
  world.fleet.calls.settle(settlementOf(keyOf('a'), call, overrides));

/** Its only calls are forgotten, so it was graded where nothing had run. */
async function scoredNatively(name: string) {
  const { key } = await held(world.fleet, claimOf(name, { face: 'native' }));
  await world.fleet.grades.begin(key, gradeAsk());
  await world.fleet.grades.score(key, 1, 0.5, {});
  return key;
}

describe('an admission', () => {
  test('with the stamp of its grant makes the rollout active and sends the call', async () => {
    const claimed = await held(world.fleet, claimOf('a'));
    const reply = await world.fleet.calls.admit(admitOf(claimed, 'call-1'));
    expect(reply).toMatchObject({
      kind: 'dispatch',
      again: false,
      activated: true,
      epoch: claimed.epoch,
      rollout: { state: 'active', calls: 1, inFlight: 1 },
    });
  });

  test('before any claim, in line, without a stamp, with an old stamp or another boot is not_active', async () => {
    const claimed = await held(world.fleet, claimOf('a'));
    const { fleet } = world;
    const stamp = { generation: claimed.generation, boot: bootId('another') };
    const kinds = [
      await fleet.calls.admit({ ...admitOf(claimed, 'c'), key: keyOf('nobody') }),
      await fleet.calls.admit(admitOf(claimed, 'c', { activation: null })),
      await fleet.calls.admit(admitOf({ ...claimed, generation: 0 }, 'c')),
      await fleet.calls.admit(admitOf(claimed, 'c', { activation: stamp })),
    ].map(({ kind }) => kind);
    expect(kinds).toEqual(['not_active', 'not_active', 'not_active', 'not_active']);
  });

  test('of parallel first calls activates once and sends each', async () => {
    const claimed = await held(world.fleet, claimOf('a'));
    const calls = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8'];
    const replies = await Promise.all(calls.map((call) => world.fleet.calls.admit(admitOf(claimed, call))));
    expect(replies.map(({ kind }) => kind)).toEqual(calls.map(() => 'dispatch'));
    expect(await recordOf(world.fleet, keyOf('a'))).toMatchObject({ calls: 8, inFlight: 8 });
  });

  test('of one call sent twenty times at once sends it first once, and again to the others', async () => {
    const claimed = await held(world.fleet, claimOf('a'));
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => world.fleet.calls.admit(admitOf(claimed, 'c1'))),
    );
    const again = replies.map((reply) => reply.kind === 'dispatch' && reply.again);
    expect(again.filter((repeat) => !repeat)).toHaveLength(1);
    expect((await recordOf(world.fleet, keyOf('a'))).calls).toBe(1);
  });

  test('sets the lease to the call deadline and the idle time, so that a running command cannot idle out', async () => {
    await world.running('a');
    expect((await recordOf(world.fleet, keyOf('a'))).leaseUntilMs).toBe(world.nowMs() + 17 * minute);
  });

  test('of a tool whose name is cut within a character, or has a zero byte, sends the call', async () => {
    await held(world.fleet, claimOf('a'));
    const names = ['x'.repeat(47) + '😀', 'zero \0 byte', 'quote " \\ud83d'];
    for (const [index, tool] of names.entries())
      expect(await admit(`call-${index}`, { tool })).toMatchObject({ kind: 'dispatch' });
    const listed = await world.fleet.calls.list(keyOf('a'));
    expect(listed.map(({ tool }) => tool).sort()).toEqual(
      ['x'.repeat(47) + '\uFFFD', ...names.slice(1)].sort(),
    );
  });

  test('of many calls at once lists them by start, and those of one millisecond by id', async () => {
    await held(world.fleet, claimOf('a'));
    const ids = Array.from({ length: 40 }, (_, index) => `call-${(index * 7) % 40}`);
    for (const id of ids) await admit(id, { budget: null });
    await world.step(1);
    await admit('call-0-later', { budget: null });
    const listed = await world.fleet.calls.list(keyOf('a'));
    expect(listed.map(({ call }) => call)).toEqual([...ids.toSorted(), 'call-0-later']);
  });

  test('of a settled call gets its record, and its sandbox has the answer', async () => {
    await world.active('a');
    const summary = { outcome: 'completed', exitCode: 0 };
    expect(await admit('call-1')).toMatchObject({
      kind: 'in_journal',
      rollout: { key: keyOf('a') },
      summary,
    });
  });

  test('of a known id with other arguments is a conflict, running or settled', async () => {
    await world.running('a');
    const other = { digest: 'e'.repeat(64) };
    expect((await admit('call-1', other)).kind).toBe('conflict');
    await settle('call-1');
    expect((await admit('call-1', other)).kind).toBe('conflict');
  });

  test('settled with other arguments changes nothing, whether it runs or has settled', async () => {
    await world.running('a');
    const other = { digest: 'e'.repeat(64), outcome: 'refused', code: 'bad_arguments' } as const;
    expect(await settle('call-1', other)).toMatchObject({ first: false, digest: 'd'.repeat(64) });
    expect(await recordOf(world.fleet, keyOf('a'))).toMatchObject({ inFlight: 1 });
    await settle('call-1');
    expect(await settle('call-1', other)).toMatchObject({ first: false, digest: 'd'.repeat(64) });
  });

  test('after finish is barred, while a recorded call still gets its record', async () => {
    await world.active('a');
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    expect(await admit('call-2')).toMatchObject({ kind: 'barred', code: 'rollout_closed' });
    expect((await admit('call-1')).kind).toBe('answer_expired');
  });
});

describe('budgets', () => {
  test('distinct calls are counted, repeats are not, and beyond the budget is budget_spent', async () => {
    await held(world.fleet, claimOf('a'));
    const budget = { toolCalls: 2, rolloutMs: 30 * minute };
    for (const call of ['c1', 'c1', 'c2', 'c2']) await admit(call, { budget });
    expect(await admit('c3', { budget })).toMatchObject({ kind: 'refused', reason: 'budget_spent' });
    expect((await admit('c2', { budget })).kind).toBe('dispatch');
  });

  test('of calls that a model makes at once the 49th is refused, the trainer’s own commands and repeats are not', async () => {
    await held(world.fleet, claimOf('a'));
    const ids = Array.from({ length: 48 }, (_, index) => `c${index}`);
    const budget = { toolCalls: 100, rolloutMs: 30 * minute };
    for (const call of ids) expect((await admit(call, { budget })).kind).toBe('dispatch');
    expect(await admit('c48', { budget })).toMatchObject({ kind: 'refused', reason: 'too_many_at_once' });
    expect((await admit('c47', { budget })).kind).toBe('dispatch');
    expect((await admit('e1', { budget: null })).kind).toBe('dispatch');
    await settle('c0');
    await settle('e1');
    expect((await admit('c49', { budget })).kind).toBe('dispatch');
  });

  test('a refusal for a spent budget is not counted; one for bad arguments is', async () => {
    await world.active('a');
    await settle('c2', { outcome: 'refused', code: 'budget_spent', admitted: 'no' });
    expect((await recordOf(world.fleet, keyOf('a'))).calls).toBe(1);
    await settle('c3', { outcome: 'refused', code: 'bad_arguments', admitted: 'no' });
    expect((await recordOf(world.fleet, keyOf('a'))).calls).toBe(2);
  });

  test('calls without a budget (exec, files) cost none', async () => {
    await world.active('a');
    await admit('x1', { budget: null });
    expect((await recordOf(world.fleet, keyOf('a'))).calls).toBe(1);
  });

  test('the rollout time counts from its activation, not from its wait', async () => {
    await held(world.fleet, claimOf('a'));
    await world.step(40 * minute);
    expect((await admit('c1')).kind).toBe('dispatch');
    await world.step(30 * minute);
    expect((await admit('c2')).kind).toBe('dispatch');
    await world.step(1);
    expect(await admit('c3')).toMatchObject({ kind: 'refused', reason: 'time_spent' });
  });

  test('an admission says how much of the time is left; to a repeat after it, nothing', async () => {
    await held(world.fleet, claimOf('a'));
    expect(await admit('c1')).toMatchObject({ timeLeftMs: 30 * minute });
    await world.step(29 * minute);
    expect(await admit('c2')).toMatchObject({ timeLeftMs: minute });
    expect(await admit('e1', { budget: null })).toMatchObject({ timeLeftMs: null });
    await world.step(minute);
    expect(await admit('c3')).toMatchObject({ again: false, timeLeftMs: 1 });
    await world.step(minute);
    expect(await admit('c2')).toMatchObject({ kind: 'dispatch', again: true, timeLeftMs: 0 });
  });

  test('the time that is left never falls below nothing, and is unknown of a rollout that never began', async () => {
    const left = () => world.fleet.calls.timeLeft(keyOf('a'), 30 * minute);
    expect(await left()).toBeNull();
    await world.active('a');
    expect(await left()).toBe(30 * minute);
    await world.step(31 * minute);
    expect(await left()).toBe(0);
  });
});

describe('a settlement', () => {
  test('sent ten times at once is first once; the others get what was stored', async () => {
    await world.running('a');
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) => settle('call-1', { exitCode: index })),
    );
    expect(replies.filter(({ first }) => first)).toHaveLength(1);
    expect(new Set(replies.map(({ summary }) => summary.exitCode)).size).toBe(1);
  });

  test('begins the idle time at the last end, also when the deadline was later', async () => {
    await world.running('a');
    await world.step(minute);
    await settle('call-1');
    expect((await recordOf(world.fleet, keyOf('a'))).leaseUntilMs).toBe(world.nowMs() + 15 * minute);
  });

  test('does not shorten the lease of another call that still runs', async () => {
    await world.running('a');
    await admit('call-2', { timeoutMs: 60 * minute });
    const { leaseUntilMs } = await recordOf(world.fleet, keyOf('a'));
    await settle('call-1');
    expect((await recordOf(world.fleet, keyOf('a'))).leaseUntilMs).toBe(leaseUntilMs);
  });

  test('of a call that only its settlement tells of, in the sandbox that its rollout has, makes it active', async () => {
    const rollout = await held(world.fleet, claimOf('a'));
    const told = settlementOf(keyOf('a'), 'call-1', { ranIn: sandboxOf(rollout) });
    expect(await world.fleet.calls.settle(told)).toMatchObject({ first: true, tainted: false });
    expect(await world.fleet.claims.find(rollout.owner, 1)).toMatchObject({
      state: 'active',
      discarded: null,
    });
  });

  test('and in another sandbox loses the rollout: neither of its lives has all of its state', async () => {
    const rollout = await held(world.fleet, claimOf('a'));
    const told = settlementOf(keyOf('a'), 'call-1', { ranIn: sandboxId('forgotten') });
    expect(await world.fleet.calls.settle(told)).toMatchObject({ first: true, tainted: true });
    expect(await world.fleet.claims.find(rollout.owner, 1)).toMatchObject({
      discarded: { code: 'sandbox_lost', cause: 'pod_replaced' },
    });
  });

  test('and in another sandbox after the rollout was scored changes neither its score nor its verdict', async () => {
    const key = await scoredNatively('a');
    const told = settlementOf(key, 'call-1', { ranIn: sandboxId('forgotten') });
    expect(await world.fleet.calls.settle(told)).toMatchObject({ first: true, tainted: false });
    expect(await recordOf(world.fleet, key)).toMatchObject({ score: 0.5, discarded: null });
  });

  test('and in another sandbox while it is graded leaves no score to store', async () => {
    const { key } = await held(world.fleet, claimOf('a', { face: 'native' }));
    await world.fleet.grades.begin(key, gradeAsk());
    await world.fleet.calls.settle(settlementOf(key, 'call-1', { ranIn: sandboxId('forgotten') }));
    await expect(world.fleet.grades.score(key, 1, 0.5, {})).rejects.toMatchObject({ code: 'sandbox_lost' });
    expect(await recordOf(world.fleet, key)).toMatchObject({
      score: null,
      discarded: { code: 'sandbox_lost' },
    });
  });

  test('and in another sandbox after a taint, or after the policy broke its own, leaves that as it is', async () => {
    const tainted = await world.active('a');
    await world.fleet.lifecycle.lose(sandboxOf(tainted), null, 'evicted', {});
    const broken = await world.active('b');
    await world.fleet.lifecycle.lose(sandboxOf(broken), null, 'out_of_memory', {});
    for (const { key } of [tainted, broken]) {
      const told = settlementOf(key, 'call-9', { ranIn: sandboxId('forgotten') });
      expect(await world.fleet.calls.settle(told)).toMatchObject({ first: true, tainted: false });
    }
    expect((await recordOf(world.fleet, tainted.key)).discarded).toMatchObject({ cause: 'evicted' });
    expect(await recordOf(world.fleet, broken.key)).toMatchObject({ discarded: null });
  });

  test('with a taint bars the rollout, settles what else runs with the code, and destroys the sandbox', async () => {
    const rollout = await world.running('a');
    await admit('call-2');
    const taint = { code: 'dependency_failed', evidence: { exit: 75 } } as const;
    await settle('call-1', { outcome: 'infrastructure_failure', code: taint.code, isAnswered: false, taint });
    expect((await recordOf(world.fleet, keyOf('a'))).discarded).toMatchObject(taint);
    const [first, other] = await world.fleet.calls.list(keyOf('a'));
    expect([first?.code, other?.code]).toEqual(['dependency_failed', 'dependency_failed']);
    expect(await drainingOf(world.fleet)).toEqual([rollout.epoch?.sandbox]);
    const fresh = { kind: 'barred', code: 'dependency_failed', admitted: 'no' };
    expect(await admit('call-3')).toMatchObject(fresh);
    const again = { kind: 'barred', code: 'dependency_failed', admitted: 'yes' };
    expect(await admit('call-1')).toMatchObject(again);
  });

  test('of a call that never was dispatched is recorded without a sandbox', async () => {
    await held(world.fleet, claimOf('a'));
    await settle('c1', { outcome: 'refused', code: 'unknown_tool', admitted: 'no', exitCode: null });
    expect(await world.fleet.calls.lookup(keyOf('a'), callId('c1'))).toMatchObject({
      epoch: null,
      digest: 'd'.repeat(64),
      repeated: { kind: 'ran_nothing' },
      summary: { sandbox: null, state: 'settled', outcome: 'refused', exitCode: null },
    });
  });

  test('for a rollout that nobody knows is rollout_unknown', async () => {
    const lost = world.fleet.calls.settle(settlementOf(keyOf('nobody'), 'c1'));
    await expect(lost).rejects.toMatchObject({ code: 'rollout_unknown' });
  });
});

describe('a settlement of new calls only', () => {
  const cancelled = {
    digest: '',
    tool: 'unknown',
    outcome: 'cancelled',
    code: null,
    admitted: 'no',
    exitCode: null,
    durationMs: 0,
    onlyNew: true,
  } as const;

  test('keeps a call that waits for its sandbox from running, whatever its arguments are', async () => {
    await world.fleet.claims.claim(claimOf('a'));
    expect(await settle('call-1', cancelled)).toMatchObject({ first: true, summary: { admitted: 'no' } });
    for (const digest of ['one', 'another'])
      expect(await admit('call-1', { digest })).toMatchObject({
        kind: 'ran_nothing',
        summary: { outcome: 'cancelled', sandbox: null },
      });
    expect(await recordOf(world.fleet, keyOf('a'))).toMatchObject({
      state: 'claimed',
      calls: 0,
      inFlight: 0,
    });
  });

  test('leaves a call that was sent as it is, and says that it runs', async () => {
    await held(world.fleet, claimOf('a'));
    await admit('call-1');
    expect(await settle('call-1', cancelled)).toMatchObject({
      first: false,
      summary: { state: 'dispatched', outcome: null },
    });
    expect(await settle('call-1')).toMatchObject({ first: true, summary: { outcome: 'completed' } });
    expect(await settle('call-1', cancelled)).toMatchObject({
      first: false,
      summary: { outcome: 'completed' },
    });
  });

  test('of an admission and a cancel at once either wins, and both know which', async () => {
    const claimed = await held(world.fleet, claimOf('a'));
    const calls = Array.from({ length: 20 }, (_, index) => `c${index}`);
    for (const call of calls) {
      const [admitted, settled] = await Promise.all([
        world.fleet.calls.admit(admitOf(claimed, call)),
        settle(call, cancelled),
      ]);
      expect(admitted.kind).toBe(settled.first ? 'ran_nothing' : 'dispatch');
    }
  });

  test('has no room in the transcript that graders read', async () => {
    await held(world.fleet, claimOf('a'));
    await settle('call-1', cancelled);
    const [told] = await world.fleet.calls.transcript(keyOf('a'));
    expect(told).toMatchObject({ summary: { call: 'call-1' }, arguments: null, output: null });
    expect(await readStory(world.fleet.calls, keyOf('a'))).toEqual(noStory);
  });
});

describe('what is kept', () => {
  test('the record of each call; the answers are in the sandbox until the close', async () => {
    await world.active('a');
    await settle('wrong', { outcome: 'refused', code: 'bad_arguments', admitted: 'no' });
    expect((await admit('call-1')).kind).toBe('in_journal');
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    expect(await admit('call-1')).toMatchObject({ kind: 'answer_expired', summary: { exitCode: 0 } });
    expect((await admit('wrong')).kind).toBe('ran_nothing');
  });

  test('a summary takes at most 200 bytes', async () => {
    await world.running('a');
    await settle('call-1', { outcome: 'infrastructure_failure', code: 'outcome_unknown', outputBytes: 1e9 });
    const [stored] = await world.redis.hvals('corral:{test}:calls:acme/run-1/a/1/policy');
    expect(stored?.length).toBeLessThanOrEqual(200);
  });

  test('summaries until 40 minutes after the close', async () => {
    await world.active('a');
    await world.fleet.lifecycle.close(keyOf('a'), 'finished');
    const lifeOf = (name: string) => world.redis.pttl(`corral:{test}:${name}:acme/run-1/a/1/policy`);
    for (const name of ['calls', 'details']) {
      expect(await lifeOf(name)).toBeGreaterThan(39 * minute);
      expect(await lifeOf(name)).toBeLessThanOrEqual(40 * minute);
    }
  });

  test('of an unknown call nothing', async () => {
    await world.active('a');
    expect(await world.fleet.calls.lookup(keyOf('a'), callId('nobody'))).toBeNull();
    expect(await world.fleet.calls.list(keyOf('nobody'))).toEqual([]);
  });
});

const tryOf = (sender: string) => admit('c', { sender });
const remove = (sender: string) => world.fleet.calls.unsent(keyOf('a'), callId('c'), sender, true);
const recorded = async () => (await world.fleet.calls.lookup(keyOf('a'), callId('c'))) !== null;
const stored = async (call: string) =>
  (await world.redis.hget(`corral:{test}:calls:${keyOf('a')}`, call)) ?? '';

describe('the tries that may send a call', () => {
  test('the last one withdraws it, which gives its place in the budget back', async () => {
    await world.active('a');
    await tryOf('t1');
    await tryOf('t2');
    await remove('t1');
    expect(await recorded()).toBe(true);
    await remove('t2');
    expect(await recorded()).toBe(false);
    expect(await recordOf(world.fleet, keyOf('a'))).toMatchObject({ calls: 1, inFlight: 0 });
  });

  test('one that is removed twice leaves the other', async () => {
    await world.active('a');
    await tryOf('t1');
    await tryOf('t2');
    await remove('t1');
    await remove('t1');
    expect(await recorded()).toBe(true);
  });

  test('a late removal of a try that was withdrawn leaves the next one', async () => {
    await world.active('a');
    await tryOf('t1');
    await remove('t1');
    await tryOf('t2');
    await remove('t1');
    expect(await recorded()).toBe(true);
  });

  test('one that asks twice, because it did not receive the reply, counts once', async () => {
    await world.active('a');
    await tryOf('t1');
    await tryOf('t1');
    await remove('t1');
    expect(await recorded()).toBe(false);
  });

  test('are forgotten when the call is settled, and when its rollout is closed', async () => {
    await world.active('a');
    await tryOf('t1');
    expect(await stored('c')).toContain('t1');
    await settle('c');
    expect(await stored('c')).not.toContain('t1');
    await admit('d', { sender: 't2' });
    await world.fleet.lifecycle.close(keyOf('a'), 'deleted');
    expect(await stored('d')).not.toContain('t2');
  });
});
