import { expect, test } from 'vitest';
import { readNodes } from './api.ts';

const node = (name: string, conditions: readonly object[], labels = {}) => ({
  metadata: { name, labels },
  status: { conditions },
});
const read = (...items: readonly object[]) => readNodes(JSON.stringify({ items }));

test('a node says for itself whether it is ready', () => {
  const conditions = [
    { type: 'MemoryPressure', status: 'False' },
    { type: 'Ready', status: 'True' },
  ];
  expect(read(node('n1', conditions))).toEqual([{ name: 'n1', ready: 'True', fake: false }]);
});

test('a node that has said nothing yet is unknown, not ready', () => {
  expect(read({ metadata: { name: 'n1' }, status: {} })).toEqual([
    { name: 'n1', ready: 'Unknown', fake: false },
  ]);
});

test('a node of kwok is told from a real one', () => {
  expect(read(node('fake-0', [], { type: 'kwok' }))[0]?.fake).toBe(true);
});
