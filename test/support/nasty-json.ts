import * as fc from 'fast-check';

/*
 * JSON text as a policy would write it that looks for a fault: numbers that no JSON can hold, names that objects inherit,
 * half characters, depth, repeats. Text, because most of it cannot be said in values of JavaScript.
 */

const numbers = [
  '0',
  '-0',
  '7',
  '1e999',
  '-1e999',
  '1e-999',
  '9007199254740993',
  '0.1e1',
  '123456789012345678901234567890',
];

const names = [
  'command',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'id',
  'then',
  'toJSON',
  '',
  ' ',
  '0',
  'length',
];

const texts = [
  'true',
  String.raw`\ud800`,
  String.raw`\udc00x\ud800`,
  String.raw`\u0000`,
  String.raw`\"\\\n\t\b`,
  '\u2028é😀',
  '```json\\n{}\\n```',
  '{\\"command\\":\\"true\\"}',
  '{\\"command\\":1e999}',
  '[1e999]',
  '`'.repeat(40),
  '\\n'.repeat(40),
  '$&$1$`',
  '%s{command}{reason}',
];

const quoted = (text: string): string => `"${text}"`;

const leaf = fc.oneof(
  fc.constantFrom(...numbers),
  fc.constantFrom('null', 'true', 'false', '{}', '[]'),
  fc.constantFrom(...texts).map(quoted),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => JSON.stringify(text)),
);

const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...names).map(quoted) },
  { weight: 1, arbitrary: fc.constantFrom(...texts).map(quoted) },
);

const nested = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    fc
      .array(fc.tuple(name, tie('value')), { maxLength: 4 })
      .map((members) => `{${members.map(([key, value]) => `${key}:${value}`).join(',')}}`),
  ),
})).value;

/** Few, because each costs as much as a thousand others. */
const huge = fc.constantFrom(
  `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
  `[${'{},'.repeat(20_000)}{}]`,
  quoted('x'.repeat(100_000)),
  quoted(`\`\`\`${'\\n'.repeat(2_000)}x`),
);

export const nastyJson = fc.oneof({ weight: 60, arbitrary: nested }, { weight: 1, arbitrary: huge });

/** An object, and some of its members as given. */
export const nastyObject = (members: Readonly<Record<string, fc.Arbitrary<string>>>): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.array(fc.tuple(name, nested), { maxLength: 3 }),
      fc.tuple(...Object.entries(members).map(([key, value]) => value.map((text) => `"${key}":${text}`))),
    )
    .map(([others, own]) => `{${[...others.map(([key, value]) => `${key}:${value}`), ...own].join(',')}}`);

/** A valid text with a few bytes of it changed, doubled or gone. */
export const mutilated = (text: string): fc.Arbitrary<Buffer<ArrayBuffer>> => {
  const bytes = Buffer.from(text);
  const wound = fc.record({
    at: fc.nat(bytes.length - 1),
    drop: fc.nat(3),
    insert: fc.uint8Array({ maxLength: 3 }),
  });
  return fc
    .array(wound, { minLength: 1, maxLength: 3 })
    .map((wounds) =>
      wounds.reduce<Buffer<ArrayBuffer>>(
        (left, { at, drop, insert }) =>
          Buffer.concat([left.subarray(0, at), Buffer.from(insert), left.subarray(at + drop)]),
        bytes,
      ),
    );
};
