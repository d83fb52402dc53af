import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { monitoringPrograms } from '#infra/monitoring/programs.ts';
import { type AlertName, alertNames, alertOf } from '#infra/monitoring/rules/rules.ts';
import { ask, valuesOfTest } from './promtool.ts';

const { amtool } = await monitoringPrograms((line) => console.error(line));
const file = join(import.meta.dirname, '../../../infra/monitoring/alertmanager.example.yml');

const receivers = { infrastructure: 'platform-hours', model: 'rl-channel', caller: 'run-owners' } as const;

function receiverFor(name: AlertName): string {
  const { severity, blame } = alertOf(name);
  return severity === 'critical' ? 'platform-on-call' : receivers[blame];
}

const routed = (name: AlertName, labels: Readonly<Record<string, string>>) =>
  ask([
    amtool,
    'config',
    'routes',
    'test',
    `--config.file=${file}`,
    `--verify.receivers=${receiverFor(name)}`,
    ...Object.entries({ ...labels, alertname: name, fleet: valuesOfTest.fleet }).map(
      ([label, value]) => `${label}=${value}`,
    ),
  ]);

test('amtool takes the example', async () => {
  const { code, output } = await ask([amtool, 'check-config', file]);
  expect(output).toContain('SUCCESS');
  expect(code).toBe(0);
});

test.each(alertNames)('%s reaches whom its blame and severity name', async (name) => {
  const { severity, blame } = alertOf(name);
  expect(await routed(name, { severity, blame })).toMatchObject({ code: 0 });
});

test('a route that is another’s is noticed', async () => {
  expect(await routed('PartAway', { severity: 'info', blame: 'model' })).toMatchObject({ code: 1 });
});

test('only what is ours wakes anybody', () => {
  const waking = alertNames.map(alertOf).filter(({ severity }) => severity === 'critical');
  expect(waking.filter(({ blame }) => blame !== 'infrastructure')).toEqual([]);
  expect(waking.length).toBeGreaterThan(4);
});

describe('a cause holds back its consequences:', () => {
  type Inhibition = {
    readonly source_matchers: readonly [string];
    readonly target_matchers: readonly [string];
    readonly equal: readonly string[];
  };

  test('the example says what the rules say, and never of another fleet', async () => {
    const { inhibit_rules: inhibitions } = parse(await readFile(file, 'utf8')) as {
      readonly inhibit_rules: readonly Inhibition[];
    };
    const told = inhibitions.flatMap(({ source_matchers: [source], target_matchers: [target] }) =>
      namesIn(source).flatMap((cause) => namesIn(target).map((name) => `${cause} > ${name}`)),
    );
    const wanted = alertNames.flatMap((name) =>
      (alertOf(name).consequenceOf ?? []).map((cause) => `${cause} > ${name}`),
    );
    expect(told.toSorted()).toEqual(wanted.toSorted());
    for (const { equal } of inhibitions) expect(equal).toEqual(['namespace', 'fleet']);
  });

  test('no cause is less severe than what it holds back, or is held back by it, and each exists', () => {
    const weight = { info: 0, warning: 1, critical: 2 } as const;
    for (const name of alertNames) {
      const { severity, consequenceOf = [] } = alertOf(name);
      for (const cause of consequenceOf) {
        expect(alertNames).toContain(cause);
        const of = alertOf(cause as AlertName);
        expect(weight[of.severity], `${cause} > ${name}`).toBeGreaterThanOrEqual(weight[severity]);
        expect(of.blame, `${cause} > ${name}`).toBe('infrastructure');
        expect(causesOf(cause as AlertName), `${name} explains itself`).not.toContain(name);
      }
    }
  });
});

const namesIn = (matcher: string) => (/"(.*)"/.exec(matcher)?.[1] ?? '').split('|');

/** Causes of causes, too: a circle would silence all of its members. */
function causesOf(name: AlertName): readonly string[] {
  const direct = (alertOf(name).consequenceOf ?? []) as readonly AlertName[];
  return [...direct, ...direct.flatMap(causesOf)];
}
