import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { expect, onTestFinished, test } from 'vitest';
import { monitoringPrograms } from '#infra/monitoring/programs.ts';
import { ask, ofTest, rulesOfTest, valuesOfTest } from './promtool.ts';
import { expiredByCaller, lostByUs, type Series } from './story.ts';

const { promtool } = await monitoringPrograms((line) => console.error(line));

const stored = 'corral_scores_total{pod="g1",environment="shell"}';
const voided = 'corral_scores_voided_total{pod="g1",environment="shell"}';
const points = (sign: string) => `corral_score_points_total{pod="g1",sign="${sign}",environment="shell"}`;

type Means = { readonly mean: number | null; readonly ifZeroed: number | null };

/** What promtool says if the rules do not record these means; an empty text if they do. */
async function compared(series: Series, { mean, ifZeroed }: Means): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-reward-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'rules.yaml'), rulesOfTest());
  const labels = `{environment="shell",fleet="${valuesOfTest.fleet}",namespace="${valuesOfTest.namespace}"}`;
  const recorded = (name: string, value: number | null) => ({
    expr: name,
    eval_time: '90m',
    exp_samples: value === null ? [] : [{ labels: `${name}${labels}`, value }],
  });
  const means = [
    recorded('corral:reward:mean1h', mean),
    recorded('corral:reward_if_zeroed:mean1h', ifZeroed),
  ];
  const input = Object.entries(series).map(([name, values]) => ({ series: ofTest(name), values }));
  const tests = [{ interval: '1m', input_series: input, promql_expr_test: means }];
  await writeFile(
    join(folder, 'tests.yaml'),
    stringify({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests }, { lineWidth: 0 }),
  );
  const { code, output } = await ask([promtool, 'test', 'rules', 'tests.yaml'], folder);
  return code === 0 ? '' : output;
}

/** Each minute the rewards 1, 3 and 2; and of the rest, as many as are said. */
const played = (more: Series): Series => ({
  [stored]: '0+3x100',
  [voided]: '0x100',
  [points('positive')]: '0+6x100',
  [points('negative')]: '0x100',
  [lostByUs]: '0x100',
  [expiredByCaller]: '0x100',
  ...more,
});

test.each<[string, Series, Means]>([
  ['a lost sandbox counts as a 0 in the second mean', { [lostByUs]: '0+1x100' }, { mean: 2, ifZeroed: 1.5 }],
  ["callers' discards are in neither mean", { [expiredByCaller]: '0+9x100' }, { mean: 2, ifZeroed: 2 }],
  [
    'a voided score is in neither mean',
    {
      [stored]: '0+4x100',
      [voided]: '0+1x100',
      [points('positive')]: '0+36x100',
      [points('negative')]: '0+30x100',
      [lostByUs]: '0+1x100',
    },
    { mean: 2, ifZeroed: 1.5 },
  ],
  [
    'an hour of infrastructure discards alone has no mean, and a 0 in the second',
    { [stored]: '0x100', [points('positive')]: '0x100', [lostByUs]: '0+1x100' },
    { mean: null, ifZeroed: 0 },
  ],
])('%s', async (_situation, more, means) => {
  expect(await compared(played(more), means)).toBe('');
});
