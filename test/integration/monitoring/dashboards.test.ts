import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { expect, onTestFinished, test } from 'vitest';
import { panelQueries } from '../../../infra/monitoring/dashboards/dashboards.ts';
import { monitoringPrograms } from '../../../infra/monitoring/programs.ts';
import { rulesFile } from '../../../infra/monitoring/rules/rules-file.ts';
import { panelTroubles } from '../../support/panel-troubles.ts';
import { startPrometheus } from '../../support/prometheus.ts';
import { ask, rulesOfTest } from './promtool.ts';

test('every query of every panel is PromQL', async () => {
  const { promtool } = await monitoringPrograms(() => undefined);
  const folder = await mkdtemp(join(tmpdir(), 'corral-queries-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const rules = panelQueries().map(({ expr }, index) => ({ record: `query_${index}`, expr }));
  const file = join(folder, 'queries.yaml');
  await writeFile(file, stringify({ groups: [{ name: 'queries', rules }] }));
  expect(await ask([promtool, 'check', 'rules', file])).toMatchObject({ code: 0 });
});

test('panels ask for shares that rules record', () => {
  const asked = panelQueries().flatMap(({ expr }) => expr.match(/corral:[\w:]+/g) ?? []);
  const recorded = new Set([...rulesFile().matchAll(/record: '?(corral:[\w:]+)/g)].map(([, name]) => name));
  expect(asked.filter((name) => !recorded.has(name))).toEqual([]);
  expect(asked.length).toBeGreaterThan(0);
});

test('panels of a Prometheus that scrapes no fleet are told one by one, and none of them is refused', async () => {
  const prometheus = await startPrometheus([], rulesOfTest());
  onTestFinished(() => prometheus.stop());
  const toMs = Date.now();
  const told = await panelTroubles({
    prometheusUrl: prometheus.url,
    fromMs: toMs - 60_000,
    toMs,
    inCluster: true,
  });
  const needed = panelQueries().filter(({ needs }) => needs !== 'event');
  expect(told.map((one) => one.replace(/ \(.*/s, ''))).toEqual(
    needed.map(({ panel }) => `${panel}: it has no data`),
  );
});
