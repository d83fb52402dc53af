import { expect, test } from 'vitest';
import { evidenceOf, evidenceText } from './record.ts';

test('small evidence comes back as it was', () => {
  const evidence = { node: 'n1', exit: 137, pressure: false, cause: null };
  expect(evidenceOf(evidenceText(evidence))).toEqual(evidence);
});

test('a long text is cut', () => {
  expect(evidenceOf(evidenceText({ log: 'x'.repeat(5_000) }))).toEqual({ log: 'x'.repeat(240) });
});

test('what does not fit is left out and counted, so that a rollout stays under its bound', () => {
  const evidence = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`k${index}`, 'x'.repeat(200)]),
  );
  const text = evidenceText(evidence);
  expect(text.length).toBeLessThan(1_100);
  expect(evidenceOf(text)['left_out']).toBe(50 - (Object.keys(evidenceOf(text)).length - 1));
});

test('no evidence is empty', () => {
  expect(evidenceOf(null)).toEqual({});
});
