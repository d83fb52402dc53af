import { join } from 'node:path';
import { expect, test } from 'vitest';
import { graderFields } from '../model/grader-leaves.ts';
import { loadEnvironments } from './load-environments.ts';

const gallery = join(import.meta.dirname, '../../environments');

test('every environment that we ship loads, says what it is for, and keeps its answer out of the sandbox', async () => {
  const environments = (await loadEnvironments(gallery)).all();
  expect(environments.map(({ name }) => name)).toEqual([
    'code-edit-planning',
    'column-total',
    'sandbox',
    'shell',
  ]);
  for (const { description, expose, grader } of environments) {
    expect(description).not.toBe('');
    expect(graderFields(grader).filter((field) => expose.includes(field))).toEqual([]);
  }
});
