import { expect, test } from 'vitest';
import { byPolicy, lossByPolicy } from './meanings/by-policy.ts';
import { unmarkedWitness } from './meanings/unmarked-witness.ts';
import { mayBeCommand, suspectedOf } from './verdict.ts';
import { restsOnSandbox, saidBySandbox } from './witness.ts';

test('what only a sandbox may have said is not called impossible for a policy in docs/failures.md', () => {
  const told = Object.entries({ ...byPolicy, ...lossByPolicy });
  const bySandbox = told.filter(([name]) => restsOnSandbox(name, saidBySandbox));
  expect(bySandbox.length).toBeGreaterThan(10);
  expect(bySandbox.filter(([, { alone }]) => alone === 'no')).toEqual([]);
});

test('a cause that a provider reports is the sandbox’s word only if it said so', () => {
  for (const cause of ['expired', 'pod_replaced', 'grader_failed']) {
    expect(restsOnSandbox(cause, {})).toBe(false);
    expect(restsOnSandbox(cause, saidBySandbox)).toBe(true);
  }
  expect(restsOnSandbox('node_lost', saidBySandbox)).toBe(false);
});

test('a failure that is not known rests on nothing else', () => {
  for (const what of ['a code of a later version', undefined, 'constructor'])
    expect(restsOnSandbox(what, {})).toBe(true);
});

test('docs/failures.md names a witness for each discard that may have no mark, and for no other', () => {
  const alwaysMarked = Object.keys(unmarkedWitness).filter(
    (name) => unmarkedWitness[name as keyof typeof unmarkedWitness] === null,
  );
  const causes = Object.keys(mayBeCommand).filter(
    (cause) => mayBeCommand[cause as keyof typeof mayBeCommand] === true,
  );
  expect(suspectedOf('outcome_unknown', null)).toBe('command');
  expect(alwaysMarked.toSorted()).toEqual(['outcome_unknown', ...causes].toSorted());
});
