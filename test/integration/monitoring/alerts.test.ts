import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { monitoringPrograms } from '#infra/monitoring/programs.ts';
import { faster } from '#infra/monitoring/rules/rules-file.ts';
import { alertNames } from '#infra/monitoring/rules/rules.ts';
import { ask, played, rulesOfTest } from './promtool.ts';
import type { Stories } from './story.ts';
import { machineryStories } from './stories/machinery.ts';
import { objectiveStories } from './stories/objectives.ts';
import { othersStories } from './stories/others.ts';
import { sandboxStories } from './stories/sandboxes.ts';

// Every alert, played by Prometheus' own promtool with the ranges and patience of production.

const { promtool } = await monitoringPrograms((line) => console.error(line));

const stories: Readonly<Record<string, Stories>> = {
  ...objectiveStories,
  ...sandboxStories,
  ...machineryStories,
  ...othersStories,
};

test('every alert has stories in which it fires, stays silent and resolves', () => {
  expect(Object.keys(stories).toSorted()).toEqual(alertNames.toSorted());
  for (const [name, { fires, silent, resolves }] of Object.entries(stories))
    expect(Math.min(fires.length, silent.length, resolves.length), name).toBeGreaterThan(0);
});

describe.concurrent('promtool finds that', () => {
  test.each(alertNames)('%s fires, stays silent at a near miss, and resolves', async (alert) => {
    const own = stories[alert];
    expect(own === undefined ? 'no stories' : await played(promtool, alert, own)).toBe('');
  });
});

test.each([1, 60])('the rules are well made, and also when %s times as fast', async (speed) => {
  const folder = await mkdtemp(join(tmpdir(), 'corral-rules-'));
  try {
    await writeFile(join(folder, 'rules.yaml'), faster(rulesOfTest(), speed));
    const { code, output } = await ask([promtool, 'check', 'rules', 'rules.yaml'], folder);
    expect(output).toMatch(/SUCCESS: \d\d rules found/);
    expect(code).toBe(0);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('faster rules have every range and every patience divided, and nothing else', () => {
  const text = 'x[5m] > 0 and y[3d]\n    for: 2m\n    other: 2m\n';
  expect(faster(text, 60)).toBe('x[5000ms] > 0 and y[4320000ms]\n    for: 2000ms\n    other: 2m\n');
});
