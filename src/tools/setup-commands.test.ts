import { expect, test } from 'vitest';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { Failure } from '../failure/failure.ts';
import { setupCommands } from './setup-commands.ts';

const environment = fakeEnvironment({
  expose: ['repo', 'size'],
  setup: { commands: [['ln', '-s', '/repos/{item.repo}', 'repo'], ['true']], timeoutMs: 1000 },
});

test('exposed fields are filled in and in the environment of every command; others stay outside', () => {
  const env = { CORRAL_ITEM_REPO: 'fastify', CORRAL_ITEM_SIZE: '3' };
  expect(setupCommands(environment, { repo: 'fastify', size: 3, files: ['secret'] })).toEqual([
    { kind: 'exec', argv: ['ln', '-s', '/repos/fastify', 'repo'], env },
    { kind: 'exec', argv: ['true'], env },
  ]);
});

test.each([
  ['no row', null],
  ['a row without the field', { repo: 'fastify' }],
  ['a row where it is null', { repo: 'fastify', size: null }],
])('%s is the failure of the caller, named by field', (_what, item) => {
  const failing = () => setupCommands(environment, item);
  expect(failing).toThrow(Failure);
  expect(failing).toThrow(/repo|size/);
});

test('an environment that exposes nothing needs no row', () => {
  expect(setupCommands(fakeEnvironment(), null)).toEqual([]);
});
