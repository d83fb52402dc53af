import { describe, expect, test } from 'vitest';
import { keptArguments, keptOutput, mostOutputCharacters } from './kept-texts.ts';

describe('arguments that are kept', () => {
  test.each(['{"path":"a"}', '', 'no JSON \0 at all', '😀'.repeat(1_024)])('%j is kept whole', (written) => {
    expect(keptArguments(written)).toEqual({ text: written, whole: Buffer.byteLength(written) });
  });

  test('longer than 4 KiB keep their beginning, never half a character, and say how long they were', () => {
    const kept = keptArguments(`a${'😀'.repeat(2_000)}`);
    expect(kept.text).toBe(`a${'😀'.repeat(1_023)}`);
    expect(kept.whole).toBe(8_001);
  });

  test('with half characters keep none, so that the text that comes back is the one that went', () => {
    const { text } = keptArguments('{"a":"\ud800"}');
    expect(text).toBe('{"a":"\ufffd"}');
    expect(text).toBe(Buffer.from(text).toString('utf8'));
  });

  test('that were too long for any call leave their length', () => {
    expect(keptArguments({ tooLongBytes: 9_000_000 })).toEqual({ text: '', whole: 9_000_000 });
  });
});

describe('an output that is kept', () => {
  test('of up to 4,096 characters is kept whole', () => {
    const output = '漢'.repeat(mostOutputCharacters);
    expect(keptOutput(output)).toEqual({ text: output, whole: mostOutputCharacters });
  });

  test('that is longer keeps its first and its last half of that', () => {
    const { text, whole } = keptOutput(`${'a'.repeat(50_000)}${'z'.repeat(50_000)}`);
    expect(text).toBe(`${'a'.repeat(2_048)}${'z'.repeat(2_048)}`);
    expect(whole).toBe(100_000);
  });

  test('has the same length whether the cut goes through a character or not, so that its halves are found again', () => {
    const { text } = keptOutput(`a${'😀'.repeat(10_000)}`);
    expect(text).toHaveLength(mostOutputCharacters);
    expect(text.isWellFormed()).toBe(true);
  });
});
