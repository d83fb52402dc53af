import { expect, test } from 'vitest';
import { type Limits, lines, stat } from '#infra/monitoring/dashboards/definition.ts';
import { panelLines, spark } from './panels.ts';

const limits: Limits = {
  below: 'green',
  steps: [{ from: 0.001, colour: 'red', because: 'it is the objective' }],
};
const said = { reading: '', todo: '', queries: [], limits };

const told = (value: number | null) =>
  panelLines(stat('Lost', 'share', said), [{ name: '', values: [value] }]);

test('a figure is told with the colour that Grafana would give it', () => {
  expect(told(0.001)[0]).toMatch(/^Lost +0\.1 % +red$/);
  expect(told(0)[0]).toMatch(/^Lost +0 % +green$/);
  expect(told(null)[0]).toMatch(/^Lost +no data$/);
});

test('of lines those are drawn in which anything happened, all to one scale', () => {
  const series = [
    { name: 'low', values: [0, 0.5] },
    { name: 'high', values: [1, null] },
    { name: 'never', values: [0, 0] },
  ];
  expect(panelLines(lines('Shares', 'share', said), series)).toEqual([
    'Shares (%)',
    expect.stringMatching(/^ {2}low +▁▅ {2}most 50 %, now 50 % {2}red$/),
    expect.stringMatching(/^ {2}high +█  {2}most 100 %, now – {2}red$/),
  ]);
  expect(panelLines(lines('Shares', 'share', said), [])).toEqual(['Shares (%)', '  nothing']);
});

test('a time without a sample is blank, and one without anything is the lowest', () => {
  expect(spark([null, 0, 1, 2], 2)).toBe(' ▁▅█');
  expect(spark([0, null], 0)).toBe('▁ ');
});
