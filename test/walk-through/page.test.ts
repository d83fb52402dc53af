import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { whoseFailure } from '#infra/monitoring/dashboards/whose-failure.ts';
import { type AlertName, alertNames, alertOf } from '#infra/monitoring/rules/rules.ts';
import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { spanKinds } from '#src/ports/tracer.ts';
import { rolloutRoot } from '#src/tracing/names.ts';
import { group, rollouts, run } from './burst.ts';
import { type Scene, sceneOf, scenes, withScenes } from './page.ts';

// docs/walk-through.md: its figures are those of one play, so they must agree with each other, not repeat.

const root = join(import.meta.dirname, '../..');
const page = await readFile(join(root, 'docs/walk-through.md'), 'utf8');
const scene = (name: Scene) => sceneOf(page, name);

/** What the pattern's first group matched in a scene, as a number. */
function numberIn(name: Scene, pattern: RegExp): number {
  const found = pattern.exec(scene(name))?.[1];
  if (found === undefined) throw new Error(`${name} has nothing like ${pattern}`);
  return Number(found);
}

const lost = numberIn('the run', /(\d+) discarded/);

test.each(scenes)('%s was played', (name) => {
  expect(scene(name).trim()).not.toBe('');
});

test('a scene that the page has no place for is refused, and one that it has is put there as it is', () => {
  expect(() => sceneOf('no block', 'corral top')).toThrow('corral top');
  const played = Object.fromEntries(scenes.map((name) => [name, `$& of ${name}`])) as Record<Scene, string>;
  const written = withScenes(page, played);
  expect(scenes.map((name) => sceneOf(written, name))).toEqual(Object.values(played));
  expect(
    withScenes(written, Object.fromEntries(scenes.map((name) => [name, scene(name)])) as typeof played),
  ).toBe(page);
});

describe('the alerts', () => {
  const told = [...scene('the alerts').matchAll(/^(\w+): (\w+), blame (\w+), \d+ s after the cut$/gm)];
  const held = [
    ...scene('the alerts').matchAll(/^held back: (\w+), \d+ s after the cut; (\w+) explains it$/gm),
  ];
  const names = [...told, ...held].map(([, name = '']) => name);

  test('are alerts that there are, with their severity and blame, and one of them wakes somebody', () => {
    expect(alertNames).toEqual(expect.arrayContaining(names));
    for (const [, name, severity, blame] of told)
      expect(alertOf(name as AlertName)).toMatchObject({ severity, blame });
    expect(told.map(([, , severity]) => severity)).toContain('critical');
    expect(names).toEqual(expect.arrayContaining(['RolloutsLostFast', 'SandboxesLost']));
  });

  test('blame nobody but the machinery', () => {
    expect(names.filter((name) => alertOf(name as AlertName).blame !== 'infrastructure')).toEqual([]);
  });

  test('are held back only by what is told, and explains them', () => {
    for (const [, name, by] of held) {
      expect(alertOf(name as AlertName).consequenceOf).toContain(by);
      expect(names).toContain(by);
    }
  });

  test('lead to pages that there are', () => {
    const pages = [...scene('the alerts').matchAll(/docs\/runbooks\/\w+\.md/g)].map(([path]) => path);
    expect(pages).toHaveLength(told.length);
    expect(pages.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('begin and end where the timeline has them', () => {
    for (const name of names) {
      expect(scene('what happened when')).toContain(`  alert ${name}\n`);
      expect(scene('what happened when')).toContain(`  alert ${name} has ended`);
    }
  });
});

test('corral top shows lost sandboxes as ours, and every process of the fleet at its work', () => {
  const shown = numberIn('corral top', /sandbox_lost (\d+)/);
  expect(shown).toBeGreaterThanOrEqual(3);
  expect(shown).toBeLessThanOrEqual(lost);
  expect(numberIn('corral top', /infrastructure (\d+)/)).toBe(shown);
  expect(scene('corral top')).not.toContain('no heartbeat for');
  expect(scene('corral top')).toMatch(/2 gateways, 2 controllers/);
});

test('the dashboard has its rows and panels, in their order, and a cause that begins with node_', () => {
  const drawn = scene('the dashboard').split('\n');
  const titles = whoseFailure.rows.flatMap(({ title, panels }) =>
    [title.toUpperCase()].concat(panels.filter(({ kind }) => kind !== 'table').map((panel) => panel.title)),
  );
  const places = titles.map((title) => drawn.findIndex((line) => line.startsWith(title)));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(scene('the dashboard')).toMatch(/Rollouts lost to infrastructure .* red$/m);
  expect(scene('the dashboard')).toMatch(/^ {2}node_/m);
});

test('the first look has the node that is away, and rollouts that were lost', () => {
  expect(scene('the first look')).toMatch(/^n2 +NotReady/m);
  expect(scene('the first look')).toMatch(/^n1 +Ready/m);
  expect(scene('the first look')).toContain('sandbox_lost');
});

test('the trace is that of the rollout whose story is told, from the lost call to its discard', () => {
  const [, id = '', of = '', tenant = '', attempt = ''] =
    /^trace (\w+): rollout (\S+), run burst, tenant (\S+), attempt (\d+)$/m.exec(scene('its trace')) ?? [];
  const key = { tenant: tenantId(tenant), run: runId(run), rollout: rolloutId(of), role: 'policy' } as const;
  expect(rolloutRoot(rolloutKey({ ...key, attempt: Number(attempt) })).traceId).toBe(id);
  expect(scene('the rollout')).toMatch(new RegExp(`^\\$ corral rollout ${of} `, 'm'));
  expect(scene('the rollout')).toMatch(/discard: sandbox_lost \(node_/);
  expect(scene('its trace')).toMatch(/\blose .*code=sandbox_lost blame=infrastructure cause=node_/);
  expect(scene('its trace')).toMatch(/^rollout .*verdict=discard .*code=sandbox_lost blame=infrastructure/m);
  const names = [...scene('its trace').matchAll(/^[│├└─ ]*([a-z_]+) +\d+\.\d ms/gm)].map(
    ([, name = '']) => name,
  );
  expect(Object.keys(spanKinds)).toEqual(expect.arrayContaining(names));
});

test('the run and its trainer count the same, and no zero is among what is learned from', () => {
  const scored = numberIn('the run', /(\d+) scored/);
  // Two trials before it are the run's, and not the burst's.
  expect(scored + lost).toBe(rollouts + 2);
  expect(scene('what the trainer learns')).toContain(`${rollouts}: ${scored - 2} scored, ${lost} discarded`);
  const means = ['left out', 'been a 0'].map((what) =>
    numberIn('what the trainer learns', new RegExp(`${what} +([\\d.]+)`)),
  );
  expect(means[0]).toBeGreaterThan(means[1] ?? 1);
  expect((means[0] ?? 0) * (scored - 2)).toBeCloseTo((means[1] ?? 0) * rollouts, 0);
  for (const zero of ['scored despite failure', 'ran twice', 'infrastructure text shown'])
    expect(scene('what the trainer learns')).toMatch(new RegExp(`^${zero} +0$`, 'm'));
  expect(rollouts % group).toBe(0);
});
