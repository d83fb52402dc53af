import { beforeEach, describe, expect, test } from 'vitest';
import type { Evidence } from '#src/failure/failure.ts';
import { callId } from '#src/model/ids.ts';
import { saidBySandbox } from '#src/failure/witness.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import {
  admitOf,
  claimOf,
  gradeAsk,
  held,
  keyOf,
  minute,
  recordOf,
  sandboxOf,
  settlementOf,
  worldOfTests,
} from './world.ts';

/*
 * Where commands may have sandboxd's id, all that their sandbox says may be the policy's word. Each discard that rests on it is marked,
 * by whichever process writes it down. Where ids are apart, and where a provider or a judge says so, none is.
 */

const world = worldOfTests();
const key = keyOf('a');
let rollout: RolloutRecord;

/** A rollout with one call, `running` or done, and nothing else of its policy's. */
async function begin(idsApart: boolean, call: { readonly isDone: boolean }) {
  const claimed = await held(world.fleet, claimOf('a'));
  const { generation, epoch } = claimed;
  if (epoch === null) throw new Error('it has no sandbox');
  const activation = { generation, boot: epoch.boot, ...(idsApart && { idsApart }) };
  await world.fleet.calls.admit(admitOf(claimed, 'call-1', { activation }));
  if (call.isDone) await world.fleet.calls.settle(settlementOf(key, 'call-1'));
  rollout = await recordOf(world.fleet, key);
}

beforeEach(() => world.supply(1));

const lose = (cause: 'expired' | 'pod_replaced' | 'node_lost', evidence: Evidence) =>
  world.fleet.lifecycle.lose(sandboxOf(rollout), null, cause, evidence);

async function failEachTurn(evidence: Evidence) {
  for (let turn = 1; turn <= 3; turn += 1) {
    await world.fleet.grades.begin(key, gradeAsk());
    await world.fleet.grades.failed(key, turn, evidence);
  }
}

const ways: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['sandboxd says that its life is over', () => lose('expired', saidBySandbox)],
  ['sandboxd says that it is another one', () => lose('pod_replaced', saidBySandbox)],
  ['a grade without an end of its grader', () => failEachTurn({ code: 'unclassified' })],
  [
    'a sandboxd that cannot give artifacts',
    () => failEachTurn({ code: 'grader_failed', errno: 'ENOSYS', ...saidBySandbox }),
  ],
];

describe.each(ways)('%s', (_what, happens) => {
  test('is marked where commands may have its id', async () => {
    await begin(false, { isDone: true });
    await happens();
    expect(await recordOf(world.fleet, key)).toMatchObject({ discarded: { suspected: 'command' } });
  });

  test('is not marked where they have another', async () => {
    await begin(true, { isDone: true });
    await happens();
    expect(await recordOf(world.fleet, key)).toMatchObject({ discarded: { suspected: null } });
  });
});

test.each([
  ['expired' as const, () => lose('expired', { exitCode: 0 })],
  ['node_lost' as const, () => lose('node_lost', {})],
  ['a judge that fails' as const, () => failEachTurn({ code: 'grader_failed', judge: 'judge.example' })],
])('what a provider or a judge says is not marked, whatever ids there are: %s', async (_what, happens) => {
  await begin(false, { isDone: true });
  await happens();
  expect(await recordOf(world.fleet, key)).toMatchObject({ discarded: { suspected: null } });
});

test.each([
  [false, false, 'command'],
  [false, true, null],
  [true, false, null],
] as const)(
  'the end of its life (ids apart: %s, its call is done: %s) is marked as %s',
  async (idsApart, isDone, suspected) => {
    await begin(idsApart, { isDone });
    await world.step(120 * minute);
    const [expired] = await world.fleet.lifecycle.expireDue(10);
    expect(expired?.discarded).toMatchObject({ code: 'rollout_expired', suspected });
  },
);

test.each([
  [false, { code: 'unclassified' }, 'command'],
  [true, { code: 'unclassified' }, null],
  [true, { code: 'grader_failed', suspected: 'command' }, 'command'],
])(
  'the end of its life after a turn of grading that failed (ids apart: %s, of %o) is marked as %s',
  async (idsApart, evidence, suspected) => {
    await begin(idsApart, { isDone: true });
    await world.fleet.grades.begin(key, gradeAsk());
    await world.fleet.grades.failed(key, 1, evidence);
    await world.step(120 * minute);
    const [expired] = await world.fleet.lifecycle.expireDue(10);
    expect(expired?.discarded).toMatchObject({ code: 'rollout_expired', suspected });
  },
);

const unserved: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['a grade did not begin', () => world.fleet.lifecycle.unserved(key)],
  ['a call was not taken', notTaken],
  ['a transfer broke off', brokenOff],
];

async function notTaken() {
  await world.fleet.calls.admit(admitOf(rollout, 'call-2', { sender: 'try-1' }));
  await world.fleet.calls.unsent(key, callId('call-2'), 'try-1', true);
}

async function brokenOff() {
  await world.fleet.calls.admit(admitOf(rollout, 'call-2'));
  const end = { outcome: 'cancelled', unserved: true } as const;
  await world.fleet.calls.settle(settlementOf(key, 'call-2', end));
}

async function expired() {
  await world.step(120 * minute);
  const [record] = await world.fleet.lifecycle.expireDue(10);
  return record?.discarded;
}

describe.each(unserved)('the end of its life after its sandbox served nothing: %s', (_what, happens) => {
  test.each([
    [false, 'command'],
    [true, null],
  ])('(ids apart: %s) is marked as %s', async (idsApart, suspected) => {
    await begin(idsApart, { isDone: true });
    await happens();
    expect(await expired()).toMatchObject({ code: 'rollout_expired', suspected });
  });

  test('is not marked if a call was served after that', async () => {
    await begin(false, { isDone: true });
    await happens();
    await world.fleet.calls.admit(admitOf(rollout, 'call-3'));
    await world.fleet.calls.settle(settlementOf(key, 'call-3'));
    expect(await expired()).toMatchObject({ code: 'rollout_expired', suspected: null });
  });
});

test('the mark outlives the evidence, with the line that is left of a rollout', async () => {
  await begin(false, { isDone: true });
  await lose('expired', saidBySandbox);
  await world.fleet.lifecycle.close(key, 'finished');
  expect(await world.redis.hget(await nameOf(), 'suspected')).toBe('command');
});

async function nameOf(): Promise<string> {
  const names = await world.redis.keys('*rollout:*');
  const name = names.find((each) => each.endsWith(key));
  if (name === undefined) throw new Error('there is no line of it');
  return name;
}

test('before anything of the policy has run, what its sandbox says is no policy’s word', async () => {
  await held(world.fleet, claimOf('a'));
  await failEachTurn({ code: 'unclassified' });
  expect(await recordOf(world.fleet, key)).toMatchObject({
    discarded: { code: 'grader_failed', suspected: null },
  });
});
