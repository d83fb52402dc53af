import { describe, expect, test } from 'vitest';
import { parseRows } from './rows.ts';

describe('rows of a file', () => {
  test('what is ours is taken out of the item, and fields of the row are never taken for ours', () => {
    const line = { id: 'a', reference_answer: 'its own', corral: { reference: '7', cheating: null } };
    const [row] = parseRows(`${JSON.stringify(line)}\n\n`, 'rows.jsonl');
    expect(row).toEqual({
      item: { id: 'a', reference_answer: 'its own' },
      reference: '7',
      cheating: null,
    });
  });

  test.each([
    ['{"corral": "7"}', 'corral must be {reference, cheating}'],
    ['{"corral": {"refrence": "7"}}', 'corral.refrence is unknown: there are reference and cheating'],
  ])('%s is told as a mistake: an answer that is not tried would pass for one that was', (line, said) => {
    expect(() => parseRows(line, 'rows.jsonl')).toThrow(`rows.jsonl: line 1: ${said}`);
  });

  test('every bad line is named at once', () => {
    expect(() => parseRows('{"id": 1}\n[1]\n{"id"', 'rows.jsonl')).toThrow(
      /rows\.jsonl: line 2: not an object; line 3: /,
    );
  });

  test('a file without rows is refused', () => {
    expect(() => parseRows('\n', 'rows.jsonl')).toThrow('rows.jsonl: no row');
  });
});
