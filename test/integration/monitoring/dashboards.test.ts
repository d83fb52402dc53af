import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { expect, onTestFinished, test } from 'vitest';
import { panelQueries } from '#infra/monitoring/dashboards/dashboards.ts';
import { monitoringPrograms } from '#infra/monitoring/programs.ts';
import { rulesFile } from '#infra/monitoring/rules/rules-file.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '#test/support/fleet.ts';
import { panelTroubles } from '#test/support/panel-troubles.ts';
import { startPrometheus } from '#test/support/prometheus.ts';
import { ask, rulesOfTest, valuesOfTest } from './promtool.ts';

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

test('every panel of a fleet that has played has its data, and nothing is refused', async () => {
  const corral = await startFleetOfTest({ environments: { shell: shellEnvironment } });
  onTestFinished(() => corral.stop());
  const { gatewayUrl, controllerUrl } = corral.fleet;
  const { namespace, fleet } = valuesOfTest;
  const labelled = (component: string, url: string) => ({
    url,
    labels: { namespace, fleet, component, pod: `${component}-1` },
  });
  const prometheus = await startPrometheus(
    [labelled('gateway', gatewayUrl), labelled('controller', controllerUrl)],
    rulesOfTest(),
  );
  onTestFinished(() => prometheus.stop());
  const fromMs = Date.now();
  // Rates need two looks at a counter, and some counters are born with the first that they count.
  const playAndLook = async () => {
    await playSome(corral, `${Date.now()}`);
    return panelTroubles({ prometheusUrl: prometheus.url, fromMs, toMs: Date.now(), inCluster: false });
  };
  await expect.poll(playAndLook, { timeout: 100_000, interval: 2_000 }).toEqual([]);
}, 240_000);

/** More rollouts than sandboxes are ready, so that some wait for a start; each has calls of its own and a grade. */
async function playSome({ rft, native }: FleetOfTest, wave: string): Promise<void> {
  const names = Array.from({ length: 6 }, (_, index) => `trace_${wave}_${index}`);
  await Promise.all(
    names.map(async (trace) => {
      expect(await rft.call({ trace, call: 'call_1', command: 'echo 42' })).toMatchObject({ status: 200 });
      expect(await rft.call({ trace, call: 'call_2', arguments: '{"nothing":1}' })).toMatchObject({
        status: 200,
      });
      expect(await rft.grade({ trace })).toMatchObject({ status: 200 });
    }),
  );
  expect(await native.get('/v1/rollouts/nobody')).toMatchObject({ status: 404 });
}
