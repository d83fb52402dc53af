import { describe, expect, test } from 'vitest';
import { fakeEnvironment, fakeOpenTemplate, fakeTemplate } from '#test/fakes/environment.ts';
import type { Template } from '../model/environment.ts';
import { environmentName, templateDigest } from '../model/ids.ts';
import { planPools, slotTimeoutMs, targetsOf } from './plans.ts';

const digest = templateDigest('template-a');
const none = new Map();

test('an environment keeps what its pool says', () => {
  expect(targetsOf(planPools([fakeEnvironment()], [], none))).toEqual([
    { template: digest, minReady: 2, max: 10, environment: 'plain' },
  ]);
});

test('environments that share a template share a pool: sizes add up, the shortest age counts', () => {
  const one = fakeEnvironment({ pool: { minReady: 2, max: 10, maxAgeMs: 5_000 } });
  const other = fakeEnvironment({
    name: environmentName('b'),
    pool: { minReady: 3, max: 20, maxAgeMs: 9_000 },
  });
  expect(planPools([one, other], [], none).get(digest)).toMatchObject({
    minReady: 5,
    max: 30,
    maxAgeMs: 5_000,
  });
});

test('a template of an older version is served but not kept ready', () => {
  const old = fakeEnvironment({ template: fakeTemplate({ digest: templateDigest('old') }) });
  const plans = planPools([fakeEnvironment()], [old], none);
  expect(plans.get(templateDigest('old'))).toMatchObject({ minReady: 0, max: 10, wanted: false });
  expect(plans.get(digest)).toMatchObject({ minReady: 2, wanted: true });
});

test('an older version with the same template adds nothing', () => {
  expect(planPools([fakeEnvironment()], [fakeEnvironment()], none).get(digest)).toMatchObject({
    minReady: 2,
    max: 10,
  });
});

test("an operator's sizes stand before the environment's, and no pool is larger than its bound", () => {
  const overrides = new Map([[environmentName('plain'), { minReady: 50, max: 20 }]]);
  expect(targetsOf(planPools([fakeEnvironment()], [], overrides))).toEqual([
    { template: digest, minReady: 20, max: 20, environment: 'plain' },
  ]);
});

test('a slot outlives the longest start timeout', () => {
  const slow = fakeEnvironment({ template: fakeTemplate({ startTimeoutMs: 90_000 }) });
  expect(slotTimeoutMs(planPools([slow], [], none))).toBeGreaterThan(90_000);
});

test('a template that a row made is served, and none is kept ready; its environment’s size holds for all of them', () => {
  const environment = { ...fakeEnvironment(), template: fakeOpenTemplate(['*']) };
  const template = fakeTemplate({ digest: templateDigest('of-a-row') });
  const plans = planPools([environment], [], none, [{ environment, template }]);
  expect(targetsOf(plans)).toEqual([
    {
      template: 'of-a-row',
      minReady: 0,
      max: 10,
      chosenFor: environment.version,
      group: environment.version,
      environment: 'plain',
    },
  ]);
  expect(plans.get(template.digest)).toMatchObject({ wanted: true });
});

test('a template that a demand raised shares the maximum of its environment’s own, and the grader’s that of graders', () => {
  const graderTemplate = fakeTemplate({ digest: templateDigest('graders'), role: 'grader' });
  const pool = { minReady: 2, max: 40, maxAgeMs: 5_000, grader: { minReady: 1, max: 5 } };
  const environment = fakeEnvironment({ graderTemplate, pool });
  const raised = fakeTemplate({ digest: templateDigest('raised') });
  const raisedGraders = fakeTemplate({ digest: templateDigest('raised-graders'), role: 'grader' });
  const chosen = [raised, raisedGraders].map((template) => ({ environment, template }));
  const groups = targetsOf(planPools([environment], [], none, chosen)).map(({ template, ...target }) => [
    template,
    target,
  ]);
  const { version: chosenFor } = environment;
  expect(Object.fromEntries(groups)).toEqual({
    [digest]: { minReady: 2, max: 35, group: digest, environment: 'plain' },
    raised: { minReady: 0, max: 35, group: digest, chosenFor, environment: 'plain' },
    graders: { minReady: 1, max: 5, role: 'grader', group: 'graders', environment: 'plain' },
    'raised-graders': {
      minReady: 0,
      max: 5,
      role: 'grader',
      group: 'graders',
      chosenFor,
      environment: 'plain',
    },
  });
});

describe('a template that a demand raised takes as many places of its pool as its amounts are of the environment’s own', () => {
  const graderTemplate = fakeTemplate({ digest: templateDigest('graders'), role: 'grader' });
  const pool = { minReady: 0, max: 40, maxAgeMs: 5_000, grader: { minReady: 0, max: 5 } };
  const { memory, cpu, diskBytes } = graderTemplate;

  function placesOf(given: Partial<Template>, environment = fakeEnvironment({ graderTemplate, pool })) {
    const template = fakeTemplate({ digest: templateDigest('raised'), ...given });
    const targets = targetsOf(planPools([environment], [], none, [{ environment, template }]));
    const { weight = 1, forGraders = 0 } = targets.find((each) => each.template === 'raised') ?? {};
    return [weight, forGraders];
  }

  test.each([
    ['no more', {}, [1, 0]],
    ['four times the memory', { memory: { ...memory, limitBytes: 4 * memory.limitBytes } }, [4, 0]],
    ['a little more memory', { memory: { ...memory, limitBytes: memory.limitBytes + 1 } }, [2, 0]],
    ['three times the CPU', { cpu: { ...cpu, limitMilli: 3 * cpu.limitMilli } }, [3, 0]],
    ['twice the disk', { diskBytes: 2 * diskBytes }, [2, 0]],
    ['a disk on top of its memory', { diskApart: true as const }, [2, 0]],
    [
      'what its grader lacks stays free, too',
      { memory: { ...memory, limitBytes: 8 * memory.limitBytes } },
      [8, 3],
    ],
  ])('%s', (_what, given, places) => {
    expect(placesOf(given)).toEqual(places);
  });

  test('and as many as its grader lacks that has a smaller sandbox of its own', () => {
    const small = { ...graderTemplate, memory: { ...memory, limitBytes: memory.limitBytes / 4 } };
    const environment = fakeEnvironment({ graderTemplate: small, pool });
    expect(placesOf({ memory: { ...memory, limitBytes: 4 * memory.limitBytes } }, environment)).toEqual([
      4, 3,
    ]);
  });

  test('and none for graders if its grader works in its own sandbox', () => {
    const large = { memory: { ...memory, limitBytes: 64 * memory.limitBytes } };
    expect(placesOf(large, fakeEnvironment({ pool }))).toEqual([64, 0]);
  });
});

test('one of an older version is not wanted: controllers of both versions leave it in peace', () => {
  const environment = { ...fakeEnvironment(), template: fakeOpenTemplate(['*']) };
  const template = fakeTemplate({ digest: templateDigest('of-a-row') });
  const plans = planPools([], [environment], none, [{ environment, template }]);
  expect(plans.get(template.digest)).toMatchObject({ wanted: false, minReady: 0 });
});

test('graders elsewhere have a pool of their own, and with the policy’s no more than the environment may have', () => {
  const graders = fakeTemplate({ digest: templateDigest('graders'), role: 'grader' });
  const pool = { minReady: 2, max: 40, maxAgeMs: 5_000, grader: { minReady: 1, max: 5 } };
  const environment = fakeEnvironment({ graderTemplate: graders, pool });
  const sizes = (overrides = none) =>
    targetsOf(planPools([environment], [], overrides)).map(({ minReady, max }) => ({ minReady, max }));
  expect(sizes()).toEqual([
    { minReady: 2, max: 35 },
    { minReady: 1, max: 5 },
  ]);
  // An operator's own size is of both.
  // An operator's nothing is nothing, for either.
  expect(sizes(new Map([[environment.name, { max: 0 }]]))).toEqual([
    { minReady: 0, max: 0 },
    { minReady: 0, max: 0 },
  ]);
  expect(sizes(new Map([[environment.name, { max: 6 }]]))).toEqual([
    { minReady: 2, max: 3 },
    { minReady: 1, max: 3 },
  ]);
});
