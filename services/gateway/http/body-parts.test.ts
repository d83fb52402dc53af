import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyParts } from './body-parts.ts';

const member = { name: 'arguments', maxBytes: 1_000 };
const silent = (): void => undefined;

/** The body in pieces of so many bytes. */
function takeApart(text: string, pieceBytes = 7, onHeld: (bytes: number) => void = silent): BodyParts {
  return takenApart(new BodyParts(member, 2_000, onHeld), text, pieceBytes);
}

function takenApart(parts: BodyParts, text: string, pieceBytes: number): BodyParts {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) parts.push(bytes.subarray(at, at + pieceBytes));
  return parts;
}

const restOf = (parts: BodyParts): unknown => JSON.parse(parts.rest.toString());
const asideOf = ({ aside }: BodyParts): unknown =>
  Buffer.isBuffer(aside) ? JSON.parse(aside.toString()) : aside;

describe('a body', () => {
  it('is taken apart as a JSON parser would read it, wherever its chunks end', () => {
    const bodies = fc.tuple(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.jsonValue(),
      fc.integer({ min: 1, max: 40 }),
    );
    const property = fc.property(bodies, ([others, written, pieceBytes]) => {
      const body = { ...others, arguments: written, after: others };
      const parts = takenApart(
        new BodyParts({ ...member, maxBytes: 1e6 }, 1e6, silent),
        JSON.stringify(body, null, pieceBytes % 3),
        pieceBytes,
      );
      expect(restOf(parts)).toEqual(JSON.parse(JSON.stringify({ ...body, arguments: {} })));
      expect(asideOf(parts)).toEqual(JSON.parse(JSON.stringify(written)));
    });
    fc.assert(property, { seed: 11, numRuns: 500, endOnFailure: true });
  });

  it('without the member has nothing aside', () => {
    const parts = takeApart('{"a":{"arguments":1},"b":["arguments"],"c":"arguments"}');
    expect(parts.aside).toBeNull();
    expect(restOf(parts)).toEqual({ a: { arguments: 1 }, b: ['arguments'], c: 'arguments' });
  });

  it('names the member with escapes as well as without', () => {
    expect(asideOf(takeApart(String.raw`{"\u0061rguments": [1]}`))).toEqual([1]);
  });

  it('that has the member twice has its last value', () => {
    const parts = takeApart('{"arguments": [1], "id": 2, "arguments": "b"}');
    expect(asideOf(parts)).toBe('b');
    expect(restOf(parts)).toEqual({ id: 2, arguments: {} });
  });

  it('whose member is too long loses only that, also when it comes again and is short', () => {
    const long = `"${'x'.repeat(5_000)}"`;
    const parts = takeApart(`{"arguments":${long},"id":1}`);
    expect(parts.aside).toEqual({ tooLongBytes: 5_002 });
    expect(restOf(parts)).toEqual({ id: 1, arguments: {} });
    expect(asideOf(takeApart(`{"arguments":${long},"arguments":7}`))).toBe(7);
  });

  it('whose rest is too long is refused', () => {
    expect(() => takeApart(`{"id":"${'x'.repeat(2_001)}"}`)).toThrow(
      expect.objectContaining({ code: 'payload_too_large' }),
    );
  });

  it.each([
    '',
    '{',
    '}',
    '{"arguments',
    '{"arguments":',
    '{"arguments":}',
    ']]]',
    '{"a":"\\',
    '"arguments":1',
    '[{"arguments":1}]',
  ])('that is broken like %j is taken apart without a fault, for the parser to tell', (text) => {
    expect(() => takeApart(text)).not.toThrow();
  });

  it('is as deep as its rest is', () => {
    expect(takeApart(`{"arguments":${'['.repeat(50)}${']'.repeat(50)},"a":[[]]}`).deepest).toBe(3);
  });
});

/** What V8 takes for the parsed value, beside what it takes for the text. */
const shapes: readonly (readonly [string, string, number])[] = [
  ['empty objects', '{},', 64],
  ['empty lists', '[],', 40],
  ['numbers', '1.5,', 24],
  ['short texts', '"ab",', 32],
  ['objects with a numbered member', '{"31":1},', 345],
];

it.each(shapes)(
  '%s are counted as what they take once parsed: %j, %i bytes each',
  (_what, text, bytesEach) => {
    let held = 0;
    const parts = new BodyParts(null, 1_000_000, (bytes) => (held += bytes));
    const count = 10_000;
    parts.push(Buffer.from(`[${text.repeat(count)}0]`));
    expect(held - parts.rest.length).toBeGreaterThanOrEqual(bytesEach * count);
    // A row of a dataset must not be refused for a guess: ten times its bytes would be.
    expect(held).toBeLessThan(45 * text.length * count);
  },
);

it('what the model wrote stays text, so it counts as its bytes', () => {
  let held = 0;
  takeApart(`{"arguments":[${'{},'.repeat(200)}{}]}`, 64, (bytes) => (held += bytes));
  expect(held).toBeLessThan(200 * 3 + 600);
});
