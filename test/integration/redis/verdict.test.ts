import { describe, expect, test } from 'vitest';
import { runId } from '#src/model/ids.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import {
  admitOf,
  gradeAsk,
  keyOf,
  minute,
  recordOf,
  sandboxOf,
  settlementOf,
  tenant,
  worldOfTests,
} from './world.ts';

const world = worldOfTests(1);
const key = keyOf('a');

const now = () => recordOf(world.fleet, key);
const begin = () => world.fleet.grades.begin(key, gradeAsk());
const beginInSandbox = () => world.fleet.grades.begin(key, gradeAsk({ inSandbox: true }));

async function takeTurn(end: (turn: number) => Promise<unknown>): Promise<void> {
  const begun = await begin();
  if (begun.kind === 'run') await end(begun.turn);
}

async function lose(cause: 'evicted' | 'out_of_memory'): Promise<void> {
  await world.fleet.lifecycle.lose(sandboxOf(await now()), null, cause, {});
}

async function failTurns(evidence: { readonly suspected?: 'answer' }): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1)
    await takeTurn((number) => world.fleet.grades.failed(key, number, evidence));
}

/** Each event of the table in scripts/lib/verdict.lua, by the scripts that bring it about. */
const events = {
  score: () => takeTurn((turn) => world.fleet.grades.score(key, turn, 0.5, {})),
  breaks: () => lose('out_of_memory'),
  lose: () => lose('evicted'),
  taint: async () => {
    const taint = { code: 'dependency_failed', evidence: {} } as const;
    const failed = { outcome: 'infrastructure_failure', code: taint.code, isAnswered: false, taint } as const;
    await world.fleet.calls.settle(settlementOf(key, 'late', failed));
  },
  'give up': () => failTurns({}),
  'give up, suspected': () => failTurns({ suspected: 'answer' }),
  'give up, silent': async () => {
    for (let turn = 0; turn < 4; turn += 1) {
      await begin();
      await world.step(30 * minute);
    }
  },
  unseen: () => world.fleet.grades.discard(key, 'rollout_unknown', {}),
  refuse: () => world.fleet.lifecycle.refuse(key, {}),
  expire: async () => {
    await world.step(16 * minute);
    await world.fleet.lifecycle.expireDue(10);
  },
  void: () => world.fleet.lifecycle.void(key, 'a broken item'),
  finish: () => world.fleet.lifecycle.close(key, 'finished'),
} satisfies Record<string, () => Promise<unknown>>;
type Event = keyof typeof events;
const names = Object.keys(events) as readonly Event[];

/** On the native face, where a score leaves its rollout open. */
const begins = {
  open: () => world.active('a', { face: 'native' }),
  broken: async () => {
    await begins.open();
    await events.breaks();
  },
  scored: async () => {
    await begins.open();
    await events.score();
  },
  discarded: async () => {
    await begins.open();
    await events['give up']();
  },
} satisfies Record<string, () => Promise<unknown>>;
type From = keyof typeof begins;

const discards: Readonly<Partial<Record<Event, string>>> = {
  lose: 'discarded: sandbox_lost',
  taint: 'discarded: dependency_failed',
  'give up': 'discarded: grader_failed',
  'give up, suspected': 'discarded: grader_failed, suspected answer',
  'give up, silent': 'discarded: grader_failed',
  unseen: 'discarded: rollout_unknown',
  refuse: 'discarded: requirements_unmet',
  expire: 'discarded: rollout_expired',
  void: 'discarded: voided',
};

/** What an event makes of a verdict; of those that are missing, nothing. */
const becomes: Readonly<Record<From, Readonly<Partial<Record<Event, string>>>>> = {
  open: { score: 'scored', breaks: 'broken', ...discards },
  broken: {
    score: 'scored',
    'give up, suspected': 'discarded: grader_failed, suspected answer',
    // Only a judge is left that can have failed.
    'give up, silent': 'discarded: grader_failed, suspected answer',
    unseen: 'discarded: rollout_unknown',
    void: 'discarded: voided',
  },
  scored: {},
  discarded: {},
};
const unchanged = { open: 'open', broken: 'broken', scored: 'scored', discarded: 'discarded: grader_failed' };

function wordsOf({ verdict, discarded }: RolloutRecord): string {
  if (discarded === null) return verdict;
  const { code, suspected } = discarded;
  return `${verdict}: ${code}${suspected === null ? '' : `, suspected ${suspected}`}`;
}

const pairs = (Object.keys(begins) as readonly From[]).flatMap((from) =>
  names.map((event) => ({ from, event, to: becomes[from][event] ?? unchanged[from] })),
);

describe('a rollout that is', () => {
  test.each(pairs)('$from is $to after: $event', async ({ from, event, to }) => {
    await begins[from]();
    await events[event]();
    expect(wordsOf(await now())).toBe(to);
    await expectAgreement();
  });

  test.each(pairs.filter(({ to }) => /scored|discarded/u.test(to)))(
    '$to, once $from, after: $event, is that after every other event, too',
    async ({ from, event, to }) => {
      await begins[from]();
      await events[event]();
      for (const other of names) await events[other]();
      expect(wordsOf(await now())).toBe(to);
      await expectAgreement();
    },
  );
});

/** A call, a grade, the record and the report of the run say the same. */
async function expectAgreement(): Promise<void> {
  const record = await now();
  const code = record.discarded?.code;
  const report = await world.fleet.reports.run(tenant, runId('run-1'));
  expect(report).toMatchObject({
    scored: record.verdict === 'scored' && record.voidedAtMs === null ? 1 : 0,
    discarded: record.verdict === 'discarded' ? 1 : 0,
  });
  const call = await world.fleet.calls.admit(admitOf(record, 'next'));
  const grade = await begin();
  if (code !== undefined) {
    expect([call, grade]).toMatchObject([
      { kind: 'barred', code },
      { kind: 'barred', code },
    ]);
  }
  if (record.verdict === 'scored') {
    expect(call.kind).toBe('barred');
    expect(grade).toMatchObject({ kind: 'scored', score: 0.5 });
  }
  // Of a broken rollout whose turns are used up, the grade that is asked for next decides.
  const isDecided = record.verdict === 'scored' || record.verdict === 'discarded';
  if (isDecided) expect(wordsOf(await now())).toBe(wordsOf(record));
}

test('three gradings that fail and a sandbox that is lost then leave one verdict', async () => {
  const rollout = await begins.open();
  await events['give up']();
  expect(await world.fleet.lifecycle.lose(sandboxOf(rollout), null, 'node_lost', {})).toEqual({
    kind: 'none',
  });
  expect(wordsOf(await now())).toBe('discarded: grader_failed');
  expect(await world.fleet.calls.admit(admitOf(rollout, 'call-2'))).toMatchObject({ code: 'grader_failed' });
  expect(await begin()).toMatchObject({ kind: 'barred', code: 'grader_failed' });
});

describe('a broken rollout whose lease is over', () => {
  test('is not discarded, and a late grade stores its score', async () => {
    await begins.broken();
    await events.expire();
    expect(await now()).toMatchObject({ state: 'expired', verdict: 'broken', discarded: null });
    await events.score();
    expect(await now()).toMatchObject({ state: 'expired', verdict: 'scored', score: 0.5 });
    expect(await begin()).toMatchObject({ kind: 'scored', score: 0.5 });
  });

  test.each(['give up, suspected', 'give up, silent', 'unseen', 'void'] as const)(
    'is discarded after: %s',
    async (event) => {
      await begins.broken();
      await events.expire();
      await events[event]();
      expect(wordsOf(await now())).toBe(becomes.broken[event]);
      await expectAgreement();
      const discards = await world.fleet.reports.rollouts(tenant, runId('run-1'), { verdict: 'discard' });
      expect(discards.rollouts.map((one) => one.key)).toEqual([key]);
    },
  );

  test('keeps its dataset row until that grade', async () => {
    await begins.broken();
    await events.expire();
    expect(await world.fleet.claims.row(key)).toBe('{"id":"task-1"}');
    await events.score();
    expect(await world.fleet.claims.row(key)).toBeNull();
  });

  test('takes no new call', async () => {
    await begins.broken();
    const record = await now();
    await events.expire();
    const late = await world.fleet.calls.admit(admitOf(record, 'late'));
    expect(late).toMatchObject({ kind: 'barred', code: 'rollout_expired' });
  });
});

test('turns that failed before the policy broke its sandbox do not count after it', async () => {
  await begins.open();
  for (const turn of [1, 2]) await takeTurn(() => world.fleet.grades.failed(key, turn, {}));
  await takeTurn(async (turn) => {
    await events.breaks();
    await world.fleet.grades.failed(key, turn, {});
  });
  expect((await now()).verdict).toBe('broken');
  await events.score();
  expect((await now()).verdict).toBe('scored');
});

test('a turn that fails without a word is told as decided to one who asks, once', async () => {
  await begins.open();
  for (let turn = 0; turn < 3; turn += 1) {
    await begin();
    await world.step(30 * minute);
  }
  const unmarked = { discarded: { code: 'grader_failed', suspected: null } };
  expect(await begin()).toMatchObject({
    kind: 'barred',
    code: 'grader_failed',
    first: true,
    rollout: unmarked,
  });
  expect(await begin()).toMatchObject({ kind: 'barred', code: 'grader_failed', first: false });
});

test('turns without a report in the sandbox are marked: the policy may have starved it', async () => {
  await begins.open();
  for (let turn = 0; turn < 3; turn += 1) {
    expect(await beginInSandbox()).toMatchObject({ kind: 'run' });
    await world.step(30 * minute);
  }
  const marked = { discarded: { code: 'grader_failed', suspected: 'command' } };
  expect(await beginInSandbox()).toMatchObject({ kind: 'barred', first: true, rollout: marked });
});
