import { expect, test } from 'vitest';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { labelText, parseLabel } from './label.ts';

const told = { ...fakeRollout(), idleMs: 1, hardLifeMs: 2 };

test('a label is read back as it was written, without what the rollout has none of', () => {
  const label = parseLabel(labelText(told));
  expect(label).toMatchObject({ environment: told.environment, template: told.template, idleMs: 1 });
  expect(label).not.toHaveProperty('heals');
});

test('of a sandbox in which set-up was replayed the previous release finds no label, and this one does', () => {
  const text = labelText({ ...told, heals: 2 });
  expect(JSON.parse(text)).not.toHaveProperty('environment');
  expect(parseLabel(text)).toMatchObject({ environment: told.environment, heals: 2 });
});

test('a text that is no label is not read', () => {
  for (const text of [null, '', '{', '{}', '{"healed":{}}', '{"healed":null}'])
    expect(parseLabel(text)).toBeNull();
});
