import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { modelFailureCodes } from '../model/outcome.ts';
import { blameOf, brokenBy, commandsAsSandboxd, failureCodes, failures, type LossCause } from './codes.ts';

test("whose doing an end was is in the table, or the end is an answer: then it is the model's", () => {
  expect(failureCodes.map((code) => blameOf(code))).toEqual(failureCodes.map((code) => failures[code].blame));
  expect(new Set(modelFailureCodes.map((code) => blameOf(code)))).toEqual(new Set(['model']));
});

const root = join(import.meta.dirname, '../..');
const source = readFileSync(join(import.meta.dirname, 'codes.ts'), 'utf8');

/** What stands above the code's row: names, each in the file that is named next. */
function giversOf(code: string): readonly (readonly [name: string, file: string])[] {
  const above = new RegExp(`((?:\\n {2}//[^\\n]*)+)\\n {2}${code}: `).exec(source)?.[1] ?? '';
  const text = above.replaceAll('\n  //', '');
  return [...text.matchAll(/`([\w-]+)`(?=[^;]*? in\s+([\w/.-]+\.(?:ts|lua)))/g)].map(
    ([, name = '', file = '']) => [name, file],
  );
}

test.each(failureCodes)('who gives %s is named, and is there', (code) => {
  const givers = giversOf(code);
  expect(givers).not.toEqual([]);
  const missing = givers.filter(
    ([name, file]) => !new RegExp(`\\b${name}\\b`).test(readFileSync(join(root, file), 'utf8')),
  );
  expect(missing).toEqual([]);
});

test.each([
  ['a code of a newer gateway', 'infrastructure'],
  ['constructor', 'infrastructure'],
  [null, null],
] as const)('%s is the doing of %s', (code, blame) => {
  expect(blameOf(code)).toBe(blame);
});

test('only a sandbox that hit its own limit of memory or disk was taken down by what ran in it', () => {
  const ours: readonly LossCause[] = ['sandboxd_killed', 'evicted', 'node_lost', 'sandbox_exited', 'expired'];
  expect(ours.map((cause) => brokenBy(cause, {}))).toEqual(ours.map(() => null));
  expect(brokenBy('out_of_memory', {})).toContain('memory');
  expect(brokenBy('out_of_disk', {})).toContain('disk');
});

test.each(['SIGKILL', 'SIGTERM', 'SIGHUP', null])('commands that could send %s ended sandboxd', (signal) => {
  expect(brokenBy('sandboxd_killed', { ...commandsAsSandboxd, signal })).not.toBeNull();
  expect(brokenBy('sandboxd_killed', { signal })).toBeNull();
});

test.each(['SIGBUS', 'SIGSEGV', 'SIGABRT'])(
  'an end by %s may be a crash, so commands are not blamed',
  (signal) => {
    expect(brokenBy('sandboxd_killed', { ...commandsAsSandboxd, signal })).toBeNull();
  },
);

test('an end of sandboxd that no signal brought about is not blamed on commands', () => {
  const ours: readonly LossCause[] = [
    'sandbox_exited',
    'evicted',
    'node_lost',
    'expired',
    'deleted',
    'boot_changed',
  ];
  expect(ours.map((cause) => brokenBy(cause, commandsAsSandboxd))).toEqual(ours.map(() => null));
});
