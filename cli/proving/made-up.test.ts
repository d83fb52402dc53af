import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import type { Grader } from '#src/model/grader.ts';
import { fakeOpenTemplate, fakeTemplate } from '#test/fakes/environment.ts';
import { sampleArguments, sampleItem } from './made-up.ts';

const text = (match: 'exact' | 'numeric', reference: string): Grader => ({
  kind: 'text',
  answer: 'output_text',
  reference,
  match,
  tolerance: 0,
  partialWithin: 0,
});

describe('made-up arguments', () => {
  const schemas = {
    words: { type: 'string' },
    count: { type: 'integer', minimum: 3 },
    exact: { type: 'boolean' },
    mode: { enum: ['fast', 'slow'] },
    list: { type: 'array', items: { type: 'string' } },
    deep: { type: 'object' },
    shown: { type: 'string', examples: ['as shown'] },
    left: { type: 'string' },
  };
  const required = Object.keys(schemas).filter((name) => name !== 'left');
  const parameters = { type: 'object', properties: schemas, required, additionalProperties: false };

  test('the tool’s own schema accepts them, and nothing optional is sent', () => {
    const args = sampleArguments({ name: 'anything', parameters });
    expect(new Ajv2020().validate(parameters, args)).toBe(true);
    expect(args).toMatchObject({ count: 3, mode: 'fast', shown: 'as shown' });
    expect(args).not.toHaveProperty('left');
  });

  test('a file tool gets a file and a folder tool a folder', () => {
    const path = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
    expect(sampleArguments({ name: 'read_file', parameters: path })).toEqual({
      path: 'corral-preflight.txt',
    });
    expect(sampleArguments({ name: 'list_files', parameters: path })).toEqual({ path: '.' });
  });
});

describe('a made-up item', () => {
  const f1: Grader = { kind: 'f1', answer: 'output_json.files', reference: 'item.files' };
  test.each<[string, Grader, object]>([
    ['a set grader', f1, { files: ['corral-preflight'] }],
    ['a number grader', text('numeric', 'item.total'), { total: '1' }],
    [
      'a penalty over one',
      { kind: 'penalty', grader: f1, freeCalls: 1, each: 0.1, floor: 0 },
      { files: ['corral-preflight'] },
    ],
    [
      'a gate and a weighted',
      {
        kind: 'gate',
        all: [text('exact', 'item.a')],
        grader: { kind: 'weighted', parts: [{ weight: 1, grader: f1 }] },
      },
      { a: 'corral-preflight', files: ['corral-preflight'] },
    ],
  ])('has every field that %s reads, and what the environment exposes', (_name, grader, fields) => {
    expect(sampleItem({ expose: ['repo'], grader, template: fakeTemplate() })).toEqual({
      id: 'corral-preflight',
      repo: 'corral-preflight',
      ...fields,
    });
  });

  test.each([
    [
      'has the first image that is allowed by its whole name',
      ['tasks/*', 'tasks/a:1'],
      { image: 'tasks/a:1' },
    ],
    ['has no image where only patterns are allowed: real rows are needed', ['tasks/*'], {}],
  ])('of an environment whose rows name their images %s', (_name, allow, fields) => {
    const made = sampleItem({
      expose: [],
      grader: text('exact', 'item.a'),
      template: fakeOpenTemplate(allow),
    });
    expect(made).toEqual({ id: 'corral-preflight', a: 'corral-preflight', ...fields });
  });
});
