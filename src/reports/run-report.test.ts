import { expect, test } from 'vitest';
import { itemKey, runId, tenantId } from '../model/ids.ts';
import type { GroupReport, ReportStore, RunReport } from '../ports/fleet/reports.ts';
import { mostGroups, wholeRun } from './run-report.ts';

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
    calls: {},
    blame: {},
    codes: {},
    items: Array.from({ length: items }, (_, index) => itemKey(`item-${index}`)),
    sandboxMs: { scored: 0, discarded: 0, ungraded: 0 },
  };
  const group = { n: 2, scored: 1, discarded: 1, mean: 1, best: 1, spread: 0 };
  const reports: Pick<ReportStore, 'run' | 'groups'> = {
    run: async () => report,
    groups: async (_tenant, _run, some) => {
      const rows: GroupReport[] = [];
      for (const item of some)
        for (let wave = 1; wave <= waves; wave += 1) rows.push({ ...group, item, wave });
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
  expect(Math.max(...pages)).toBeLessThanOrEqual(800);
});

test('a run that nobody knows is null', async () => {
  expect(await wholeRun({ run: async () => null, groups: async () => [] }, tenant, run)).toBeNull();
});
