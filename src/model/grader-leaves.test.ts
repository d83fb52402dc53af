import { expect, test } from 'vitest';
import { fakeEnvironment, fakeOpenTemplate } from '#test/fakes/environment.ts';
import { fieldsRead, graderFields } from './grader-leaves.ts';
import type { Grader } from './grader.ts';

const f1: Grader = { kind: 'f1', answer: 'output_json', reference: 'item.truth.files' };
const text: Grader = {
  kind: 'text',
  answer: 'output_text',
  reference: 'item.answer',
  match: 'exact',
  tolerance: 0,
  partialWithin: 0,
};
const judge: Grader = {
  kind: 'http',
  url: 'http://judge',
  headers: {},
  timeoutMs: 1,
  retries: 0,
  onRefused: 0,
  control: 'none',
};

test('the fields of all parts are found, once, however deep they stand', () => {
  const parts = [
    { weight: 1, grader: f1 },
    { weight: 1, grader: judge },
  ];
  const gate: Grader = { kind: 'gate', all: [text, f1], grader: { kind: 'weighted', parts } };
  const penalty: Grader = { kind: 'penalty', grader: gate, freeCalls: 0, each: 0, floor: 0 };
  expect(graderFields(penalty)).toEqual(['answer', 'truth']);
});

test('an environment reads what it exposes, what its grader compares with, what its prompt tells, and its image; a judge reads all', () => {
  const dataset = { prompt: { user: 'fix {item.issue.title}' }, disjoint: [] };
  const template = fakeOpenTemplate(['*']);
  const environment = { ...fakeEnvironment({ expose: ['repo'], grader: text, dataset }), template };
  expect(fieldsRead(environment)).toEqual(['repo', 'answer', 'issue', 'image']);
  expect(fieldsRead({ ...environment, grader: judge })).toBe('all');
});
