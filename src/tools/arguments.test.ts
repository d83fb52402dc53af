import { describe, expect, test } from 'vitest';
import type { Tool } from '../model/environment.ts';
import { checkArguments, parseArguments, callDigest } from './arguments.ts';

describe('arguments as they come', () => {
  test.each([
    ['JSON text', '{"command": "ls"}'],
    ['an object', { command: 'ls' }],
  ])('%s is taken', (_what, raw) => {
    expect(parseArguments(raw)).toEqual({ ok: true, value: { command: 'ls' } });
  });

  test.each([
    ['text that is no JSON', 'ls -l'],
    ['a JSON list', '["ls"]'],
    ['a number', 7],
    ['a list', ['ls']],
    ['a megabyte of brackets', `{"a": ${'['.repeat(500_000)}${']'.repeat(500_000)}}`],
  ])('%s is the failure of the model', (_what, raw) => {
    expect(parseArguments(raw)).toMatchObject({ ok: false });
  });

  test.each(['', ' \n', 'null', null])(
    '%j is the empty object, as models write for a tool without arguments',
    (raw) => {
      expect(parseArguments(raw)).toEqual({ ok: true, value: {} });
    },
  );

  test('half a character becomes the replacement character, as it would for the command', () => {
    const raw = String.raw`{"a": ["\ud800x"]}`;
    expect(parseArguments(raw)).toEqual({ ok: true, value: { a: ['\ufffdx'] } });
  });
});

const tool: Tool = {
  name: 'count',
  description: 'counts',
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string' },
      mode: { enum: ['lines', 'words'] },
      range: { type: 'object', properties: { from: { type: 'integer' } } },
    },
    required: ['path'],
    additionalProperties: false,
  },
  timeoutMs: 1000,
  run: { kind: 'command', argv: ['wc', '{path}'] },
};

describe('arguments against the schema of their tool', () => {
  test('those that fit go on', () => {
    const value = { path: 'a', mode: 'lines' };
    expect(checkArguments(tool, value)).toEqual({ ok: true, value });
  });

  test.each([
    [{}, 'path is missing'],
    [{ path: 1 }, 'path must be string'],
    [{ path: 'a', depth: 2 }, 'depth is not a parameter of this tool'],
    [{ path: 'a', mode: 'bytes' }, 'mode must be one of ["lines","words"]'],
    [{ path: 'a', range: { from: 'x' } }, 'range.from must be integer'],
    [{ path: 'a\u0000b' }, 'path must not contain a NUL character'],
    [{ path: 1, mode: 2 }, 'path must be string; mode must be one of ["lines","words"]'],
  ])('%j is refused with a reason that the model can act on: %s', (args, reason) => {
    expect(checkArguments(tool, args)).toEqual({ ok: false, reason });
  });
});

test('a long list of allowed values is cut in the reason', () => {
  const values = Array.from({ length: 5_000 }, (_, index) => `value-${index}`);
  const parameters = { type: 'object', properties: { mode: { enum: values } } };
  const checked = checkArguments({ ...tool, parameters }, { mode: 'none' });
  expect(checked).toMatchObject({ ok: false, reason: expect.stringMatching(/"value-19", and 4980 more]$/) });
});

test('arguments that would take too many steps to check are the failure of the model', () => {
  const branches = Array.from({ length: 200 }, (_, index) => ({ const: index }));
  const parameters = { type: 'object', properties: { all: { type: 'array', items: { anyOf: branches } } } };
  const reason = 'there is too much in them to check against the parameters';
  const all = (length: number) => checkArguments({ ...tool, parameters }, { all: Array(length).fill(199) });
  expect(all(10)).toMatchObject({ ok: true });
  expect(all(9_000)).toEqual({ ok: false, reason });
});

test('long texts that must differ are taken, as they always were', () => {
  const parameters = { type: 'object', properties: { files: { type: 'array', uniqueItems: true } } };
  const value = { files: ['a', 'b'].map((text) => ({ text: text.repeat(500_000) })) };
  expect(checkArguments({ ...tool, parameters }, value)).toEqual({ ok: true, value });
});

test('key order and the text or object form make no difference', () => {
  const digest = callDigest('shell', { command: 'ls', depth: 2 });
  expect(callDigest('shell', { depth: 2, command: 'ls' })).toBe(digest);
  expect(callDigest('shell', '{ "depth": 2, "command": "ls" }')).toBe(digest);
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
});

test('another name, another value or other text makes another digest', () => {
  const digests = [
    callDigest('shell', { command: 'ls' }),
    callDigest('exec', { command: 'ls' }),
    callDigest('shell', { command: 'ls ' }),
    callDigest('shell', 'ls'),
    callDigest('shell', 'ls '),
    callDigest('shell', ['ls']),
    callDigest('shell', ['ls', '-l']),
    callDigest('shell', 7),
  ];
  expect(new Set(digests).size).toBe(digests.length);
});

test('what no command could carry still has a digest', () => {
  expect(callDigest('shell', String.raw`{"command": "\ud800"}`)).toMatch(/^[0-9a-f]{64}$/);
  expect(callDigest('shell', null)).toMatch(/^[0-9a-f]{64}$/);
});
