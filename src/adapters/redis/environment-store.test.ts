import { expect, test } from 'vitest';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import type { Grader } from '#src/model/grader.ts';
import { isNewToPreviousRelease } from './environment-store.ts';

const judge = {
  kind: 'http',
  url: 'http://judge.example',
  headers: {},
  timeoutMs: 1,
  retries: 0,
  onRefused: 0,
  control: 'none',
} as const;
const guarded: Grader = { ...judge, guard: { everyGrades: 1, item: {}, canaries: [] } };
const gateOf = (grader: Grader): Grader => ({
  kind: 'penalty',
  grader: { kind: 'gate', all: [judge], grader: { kind: 'weighted', parts: [{ weight: 1, grader }] } },
  freeCalls: 0,
  each: 0,
  floor: 0,
});

const isNew = (grader: Grader): boolean => isNewToPreviousRelease(fakeEnvironment({ grader }));

test('a guarded judge is new in any part of a grader, and so is the lowest of several', () => {
  expect([judge, gateOf(judge)].map(isNew)).toEqual([false, false]);
  expect([guarded, gateOf(guarded)].map(isNew)).toEqual([true, true]);
  expect(isNew({ kind: 'lowest', of: [judge, judge] })).toBe(true);
});

test('devices are new, of the policy’s sandbox and of the grader’s', () => {
  const environment = fakeEnvironment();
  const template = { ...environment.template, devices: { 'nvidia.com/gpu': 1 } };
  expect(isNewToPreviousRelease({ ...environment, template })).toBe(true);
  expect(isNewToPreviousRelease({ ...environment, graderTemplate: template })).toBe(true);
});

test('a browser is new', () => {
  const tool = {
    name: 'browser_read',
    description: '',
    parameters: {},
    timeoutMs: 1_000,
    run: { kind: 'builtin', tool: 'browser_read' },
  } as const;
  expect(isNewToPreviousRelease({ ...fakeEnvironment(), tools: { browser_read: tool } })).toBe(true);
});
