import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { filled, rulesFile, type Values } from '#infra/monitoring/rules/rules-file.ts';
import { fleetOf, home, oneOf, render, renderText } from '#test/support/helm.ts';

const rulesWith = (values: Partial<Values>): unknown =>
  parse(
    filled(rulesFile(), {
      namespace: home,
      fleet: fleetOf.production,
      lostRollouts: '0.001',
      toolCalls: '0.001',
      runbooks: 'https://pages.example.com/corral/runbooks',
      ...values,
    }),
  );

const renderedRules = async (...changes: readonly string[]): Promise<unknown> =>
  oneOf(await render('production', ...changes), 'PrometheusRule', fleetOf.production)['spec'];

test('the PrometheusRule is the rules, of this fleet alone, found by the labels that were given', async () => {
  const object = oneOf(await render('production'), 'PrometheusRule', fleetOf.production);
  expect(object['spec']).toEqual(rulesWith({}));
  expect(object.metadata).toMatchObject({ namespace: home, labels: { release: 'prometheus' } });
});

test('objectives are the installation’s own, also given as a text', async () => {
  const changes = [
    '--set',
    'monitoring.rules.lostRollouts=0.0005',
    '--set',
    'monitoring.rules.toolCalls=0.02',
  ];
  expect(await renderedRules(...changes)).toEqual(rulesWith({ lostRollouts: '0.0005', toolCalls: '0.02' }));
});

test('runbooks are below the address of the docs, unless they have one of their own', async () => {
  const docs = ['--set', 'docs=https://docs.example.com/', '--set', 'monitoring.rules.runbooks='];
  expect(await renderedRules(...docs)).toEqual(rulesWith({ runbooks: 'https://docs.example.com/runbooks' }));
});

test('who asks for no rules gets none', async () => {
  expect((await render('minimal')).filter(({ kind }) => kind === 'PrometheusRule')).toEqual([]);
});

test.each([
  ['an objective that no share could pass', 'monitoring.rules.lostRollouts=0.5'],
  ['an objective of nothing lost at all', 'monitoring.rules.toolCalls=0'],
  ['a text that would end its line', 'monitoring.rules.runbooks=a b'],
])('%s is refused with its place', async (_what, change) => {
  await expect(renderText('production', '--set', change)).rejects.toThrow(`at '/monitoring/rules/`);
});
