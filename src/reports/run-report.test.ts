import { expect, test } from 'vitest';
import { itemKey, runId, tenantId } from '../model/ids.ts';
import type { GroupReport, ReportStore, RunReport, SandboxCost } from '../ports/fleet/reports.ts';
import { mostGroups, wholeRun, LostSignal, idleShare } from './run-report.ts';

const [tenant, run] = [tenantId('acme'), runId('nightly')];

/** A run of so many items, each of which has had so many waves, of two rollouts each. */
function reportsOf(items: number, waves: number) {
  const pages: number[] = [];
  const report: RunReport = {
    tenant,
    run,
    state: 'open',
    rollouts: 2 * items * waves,
    open: 0,
    scored: 0,
    discarded: 0,
    voided: 0,
    calls: {},
    blame: {},
    codes: {},
    items: Array.from({ length: items }, (_, index) => itemKey(`item-${index}`)),
    sandboxMs: { scored: 0, discarded: 0, ungraded: 0 },
  };
  const group = { n: 2, scored: 1, discarded: 1, voided: 0, mean: 1, best: 1, spread: 0 } as const;
  const discards = { infrastructure: 1 } as const;
  const reports: Pick<ReportStore, 'run' | 'groups'> = {
    run: async () => report,
    groups: async (_tenant, _run, some) => {
      const rows: GroupReport[] = [];
      for (const item of some)
        for (let wave = 1; wave <= waves; wave += 1) rows.push({ ...group, discards, item, wave });
      pages.push(rows.length);
      return rows;
    },
  };
  return { reports, pages };
}

test('a run is read some items at a time, and told whole, in its order', async () => {
  const { reports, pages } = reportsOf(60, 2);
  const told = await wholeRun(reports, tenant, run);
  expect(told?.groups).toHaveLength(120);
  expect(told?.groups.at(-1)).toMatchObject({ item: 'item-59', wave: 2 });
  expect(told?.groupsLeftOut).toBe(0);
  expect(pages).toEqual([50, 50, 20]);
});

test('of a very large run the newest groups are told, how many are left out, and waves of all', async () => {
  const { reports, pages } = reportsOf(2_000, 32);
  const told = await wholeRun(reports, tenant, run);
  expect(told?.groups).toHaveLength(mostGroups);
  expect(told?.groups.at(-1)).toMatchObject({ item: 'item-1999', wave: 32 });
  expect(told?.groupsLeftOut).toBe(2_000 * 32 - mostGroups);
  expect(told?.waves).toHaveLength(32);
  expect(told?.waves[0]).toMatchObject({ groups: 2_000, groupsHurt: 2_000, signalLost: 1 });
  expect(told?.reward).toEqual({ mean: 1, ifZeroed: 0.5, discards: { infrastructure: 64_000 } });
  expect(Math.max(...pages)).toBeLessThanOrEqual(800);
});

test('a run that nobody knows is null', async () => {
  expect(await wholeRun({ run: async () => null, groups: async () => [] }, tenant, run)).toBeNull();
});

const group = (n: number, discarded: number, wave = 1, voided = 0) => ({
  wave,
  n,
  discarded,
  voided,
  scored: n - discarded - voided,
  mean: wave,
  discards: { infrastructure: discarded },
});

function lostSignal(groups: readonly ReturnType<typeof group>[]) {
  const signal = new LostSignal();
  for (const each of groups) signal.add(each);
  return signal.waves;
}

test('a discard costs its own advantage, while two others of its group can be compared', () => {
  expect(lostSignal([group(4, 1), group(4, 0)])).toMatchObject([
    { wave: 1, groups: 2, groupsHurt: 1, rollouts: 8, rolloutsLost: 1, signalLost: 1 / 8 },
  ]);
});

test('a voided rollout counts in no wave', () => {
  expect(lostSignal([group(4, 1, 1, 2), group(4, 0)])).toMatchObject([
    { wave: 1, groups: 2, groupsHurt: 1, rollouts: 6, rolloutsLost: 1, signalLost: 2 / 6 },
  ]);
});

test('a group that keeps one member gives no signal at all', () => {
  expect(lostSignal([group(4, 3), group(4, 0)])).toMatchObject([{ rolloutsLost: 3, signalLost: 4 / 8 }]);
});

test('a group that was small from the start has lost nothing by that', () => {
  expect(lostSignal([group(1, 0), group(1, 1)])).toMatchObject([{ groupsHurt: 1, signalLost: 1 / 2 }]);
});

test('waves are told apart, in their order', () => {
  const waves = lostSignal([group(2, 1, 2), group(2, 0, 1), group(2, 0, 2)]);
  expect(waves.map(({ wave, groups, signalLost }) => [wave, groups, signalLost])).toEqual([
    [1, 1, 0],
    [2, 2, 1 / 2],
  ]);
  expect(waves.map(({ reward }) => [reward.mean, reward.ifZeroed])).toEqual([
    [1, 1],
    [2, 1.5],
  ]);
});

test('a run without groups has no waves', () => {
  expect(lostSignal([])).toEqual([]);
});

const spent = (state: SandboxCost['state'], ms: number): SandboxCost => ({ environment: 'shell', state, ms });

test('what starts and what waits for a rollout is idle, whatever became of the rest', () => {
  const costs = [spent('starting', 10), spent('ready', 20), spent('scored', 30), spent('discarded', 20)];
  expect(idleShare([...costs, spent('ungraded', 20)])).toBe(0.3);
});

test('a fleet that has spent nothing has no share', () => {
  expect(idleShare([])).toBeNull();
  expect(idleShare([spent('ready', 0)])).toBeNull();
});
