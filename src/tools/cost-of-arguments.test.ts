import { Ajv2020 } from 'ajv/dist/2020.js';
import { array, assert, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expectFiftyTimes } from '#test/support/cost-of-a-slice.ts';
import { argumentTexts, schemaKinds } from '#test/support/costly-schemas.ts';
import type { Tool } from '../model/environment.ts';
import { callDigest, checkArguments, parseArguments } from './arguments.ts';

/*
 * A call's arguments are read, compared and checked in one slice, while which no other request has a turn. Its processor time is
 * at most 50 times that of JSON.parse of the same bytes, whatever the author's schema and the model's arguments are.
 */

function slice(tool: Tool, text: string): void {
  const parsed = parseArguments(text);
  callDigest(tool.name, text, parsed);
  if (parsed.ok) checkArguments(tool, parsed.value);
}

const toolWith = (parameters: Tool['parameters']): Tool => ({
  name: 'tool',
  description: '',
  parameters,
  timeoutMs: 1,
  run: { kind: 'builtin', tool: 'search' },
});

/** Of each schema, because compiling it takes longer than to check with it. */
const someTexts = array(argumentTexts, { minLength: 8, maxLength: 8 });

describe('a slice of at most fifty times the JSON.parse of its bytes checks arguments', () => {
  test.each([...schemaKinds])('with %s', { timeout: 120_000 }, (_keyword, kind) => {
    const within = property(kind, someTexts, (parameters, texts) => {
      const tool = toolWith(parameters);
      for (const { text } of texts) expectFiftyTimes(() => slice(tool, text), text);
    });
    assert(within, { seed: 32, numRuns: 6, endOnFailure: true });
  });
});

test('every keyword that can cost anything is tried', () => {
  const { all } = new Ajv2020().RULES;
  /** They name or describe, are not enforced, or belong to one that is tried. */
  const free = new Set([
    '$comment',
    'id',
    'format',
    '$dynamicAnchor',
    '$recursiveAnchor',
    '$recursiveRef',
    'then',
    'else',
  ]);
  const tried = Object.keys(all).filter((keyword) => !free.has(keyword));
  expect([...schemaKinds.keys()].toSorted()).toEqual(tried.toSorted());
});
