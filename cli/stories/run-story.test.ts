import { expect, test } from 'vitest';
import { bootId, callId, rolloutId, runId, sandboxId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import type { RunAnswer } from '#src/protocol/native/runs.ts';
import { Outlines } from './outlines.ts';
import { describeRun, runStoryOfAnswer, runStoryOfOutlines, suspectsOf } from './run-story.ts';

const answer: RunAnswer = {
  run: 'nightly',
  state: 'open',
  rollouts: 4,
  open: 1,
  scored: 2,
  discarded: 1,
  calls: {},
  blame: {},
  codes: {},
  waves: [],
  groups: [],
  sandbox_seconds: { scored: 30_000, discarded: 9_000, ungraded: 5_280 },
  fleet_idle_share: 0.25,
};

const screenOf = (given: Partial<RunAnswer>) =>
  describeRun(runStoryOfAnswer({ ...answer, ...given }, []), 120);

test('a run says how many hours of sandboxes it took, and how much of them was for nothing', () => {
  const screen = screenOf({});
  expect(screen).toMatch(/^sandboxes +12\.3 h of rollouts that are over, 20\.3 % of them discarded$/m);
  expect(screen).toMatch(/^idle +25\.0 % of what the whole fleet’s sandboxes have cost$/m);
});

test('a run of which nothing is over yet has cost nothing, and no share of that', () => {
  const nothing = { scored: 0, discarded: 0, ungraded: 0 };
  const screen = screenOf({ sandbox_seconds: nothing, fleet_idle_share: null });
  expect(screen).toMatch(/^sandboxes +0 ms of rollouts that are over$/m);
  expect(screen).toMatch(/^idle +–$/m);
});

test('minutes of sandboxes are told in minutes', () => {
  const short = { scored: 125, discarded: 0, ungraded: 0 };
  expect(screenOf({ sandbox_seconds: short })).toContain('2 min 5 s of rollouts');
});

test('a run has its mean, and for keys that get it what infrastructure discards as zeros would make of it', () => {
  const wave = { wave: 1, groups: 1, groups_hurt: 1, rollouts: 4, rollouts_lost: 1, signal_lost: 0.25 };
  const reward = { mean: 2, discards: { infrastructure: 1, caller: 2 } };
  const zeroed = { ...reward, reward_if_zeroed: 1.5 };
  const screen = screenOf({ ...zeroed, waves: [{ ...wave, ...zeroed }] });
  expect(screen).toMatch(/^mean reward +2, 1\.5 if its 1 infrastructure discards were zeros$/m);
  expect(screen).toMatch(/^ *1 .* 25\.0 % +2 +1\.5$/m);
  const own = screenOf({ ...reward, waves: [{ ...wave, ...reward }] });
  expect(own).toMatch(/^mean reward +2$/m);
  expect(own).toMatch(/^ *1 .* 25\.0 % +2 +–$/m);
  expect(screenOf({})).not.toContain('mean reward');
});

const owner = { tenant: tenantId('t'), run: runId('nightly'), attempt: 1, role: 'policy' } as const;

/** A rollout whose sandbox was lost under its last command, as three processes have written it down. */
function lostUnder(rollout: string, command: string, suspected: 'command' | null): readonly RolloutEvent[] {
  const key = rolloutKey({ ...owner, rollout: rolloutId(rollout) });
  const common = { atMs: 1_000, key, keyId: null, environment: 'shell', version: 'v1' };
  const summary = {
    call: callId('c1'),
    tool: 'shell',
    state: 'settled',
    outcome: 'infrastructure_failure',
    code: 'sandbox_lost',
    admitted: 'unknown',
    exitCode: null,
    startedAtMs: 900,
    durationMs: 100,
    waitedMs: 0,
    outputBytes: 0,
    sandbox: sandboxId('s-1'),
  } as const;
  const epoch = { sandbox: sandboxId('s-1'), boot: bootId('b-1') };
  const verdict = { kind: 'discard', code: 'sandbox_lost', cause: 'sandboxd_killed' } as const;
  return [
    { ...common, kind: 'lost_command', call: callId('c1'), command },
    {
      ...common,
      kind: 'call_settled',
      summary,
      blame: 'infrastructure',
      epoch,
      lastCommand: '',
      evidence: {},
    },
    { ...common, kind: 'verdict', verdict, score: null, suspected, evidence: {} },
  ];
}

const outlines = new Outlines();
for (const event of [
  ...lostUnder('r1', 'kill -9 -1', 'command'),
  ...lostUnder('r2', 'make test', 'command'),
  ...lostUnder('r3', 'kill -9 -1', 'command'),
  ...lostUnder('r4', 'echo hi', null),
])
  outlines.add(event);

test('suspected discards are counted by environment, code and last command, the most frequent first', () => {
  expect(suspectsOf(outlines.all)).toEqual([
    { environment: 'shell', code: 'sandbox_lost', command: 'kill -9 -1', rollouts: 2 },
    { environment: 'shell', code: 'sandbox_lost', command: 'make test', rollouts: 1 },
  ]);
});

test('a run that only the event log remembers is told without its groups, and with what is suspected', () => {
  const story = runStoryOfOutlines('nightly', outlines.all);
  const screen = story === null ? '' : describeRun(story, 120);
  expect(screen).toMatch(/rollouts +4: 0 scored, 4 discarded, unknown open/);
  expect(screen).toMatch(/2 +shell +sandbox_lost +kill -9 -1/);
  expect(screen).not.toContain('signal lost');
  expect(runStoryOfOutlines('another', outlines.all)).toBeNull();
});
