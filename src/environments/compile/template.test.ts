import { expect, test } from 'vitest';
import { compileFolders } from './template.ts';

/** What is compiled of such folders, beside a data folder, and what their author is told. */
function compiled(...folders: readonly string[]) {
  const said: string[] = [];
  const yaml = { image: 'host', folders: [...folders], data: [{ source: '.', target: '/data' }] };
  const made = compileFolders(yaml, (_path, message) => said.push(message));
  return { made, said };
}

test('no folders are no field, so that a template without them is the one that it was', () => {
  expect(compiled()).toEqual({ made: {}, said: [] });
  expect(compiled('/logs/verifier')).toEqual({ made: { folders: ['/logs/verifier'] }, said: [] });
});

test.each([
  ['/etc/app', '/etc'],
  ['/opt', '/opt/corral'],
  ['/.corral/own', '/.corral'],
  ['/workspace/logs', '/workspace'],
  ['/run', '/run'],
  ['/usr/local/bin', '/usr'],
  ['/data/inner', '/data'],
  ['/logs/../etc', 'no plain path'],
  ['/logs/', 'no plain path'],
])('%s would hide what is there: its author is told of %s', (folder, other) => {
  expect(compiled(folder).said).toEqual([expect.stringContaining(other)]);
});

test('of two folders, one in the other, both are told', () => {
  expect(compiled('/logs', '/logs/verifier').said).toHaveLength(2);
});
