import { assert, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { kindOfPlace, placesOf, stringsIn, verbOf } from './traits.ts';

const shell = (command: string) => JSON.stringify({ command });

describe('the verb of a call', () => {
  test.each([
    ['shell', shell('ls -la'), 'ls'],
    ['shell', shell('cd /repos/app && rg main'), 'rg'],
    ['shell', shell('A=1 B=2 timeout 10 python3 x.py'), 'python3'],
    ['shell', shell('sudo -E /usr/bin/env node x.js'), 'env'],
    ['shell', shell(''), 'shell'],
    ['read_file', '{"path":"a.ts"}', 'read_file'],
    ['shell', '', 'shell'],
  ])('of %s with %s is %s', (tool, asked, verb) => {
    expect(verbOf(tool, asked)).toBe(verb);
  });
});

describe('places of a call', () => {
  test.each([
    [
      'a hidden file, with the folders above it',
      shell('cat /repos/.tasks/rows.json'),
      ['/repos', '/repos/.tasks', '/repos/.tasks/rows.json'],
    ],
    [
      'a process, by whatever number',
      shell('cat /proc/4711/environ'),
      ['/proc', '/proc/N', '/proc/N/environ'],
    ],
    ['a home', shell('ls $HOME/.ssh'), ['~/.ssh']],
    ['a parent folder', '{"path":"../answer.txt"}', ['../answer.txt']],
    ["a variable of Corral's graders", shell('echo 1 > "${CORRAL_SCORE_FILE}"'), ['$CORRAL_SCORE_FILE']],
    [
      'no program, device, address or pattern',
      shell('/usr/bin/env cat 2>/dev/null | sed s/a/b/ http://x/y'),
      [],
    ],
    ['none inside the work', shell('cat src/a.ts ./b'), []],
  ])('are %s', (_what, asked, places) => {
    expect(placesOf(asked)).toEqual(places);
  });

  test.each([
    ['/tmp/x', 'scratch'],
    ['/var/tmp/x', 'scratch'],
    ['/run/corral', 'apart'],
    ['~/x', 'apart'],
    ['/repos/.tasks', 'apart'],
    ['/repos/app', 'data'],
    ['../x', 'data'],
  ])('%s is %s', (place, kind) => {
    expect(kindOfPlace(place)).toBe(kind);
  });
});

test('arguments that were cut anywhere still give the strings before the cut', () => {
  const whole = JSON.stringify({ command: 'echo "a\\b" \u00e9\n/run/x', path: '/y' });
  for (let length = 0; length <= whole.length; length += 1) {
    const strings = stringsIn(whole.slice(0, length));
    for (const [index, text] of strings.slice(0, -1).entries()) expect(text).toBe(stringsIn(whole)[index]);
  }
});

const isBounded = (text: string) =>
  placesOf(text).length <= 24 && placesOf(shell(text)).length <= 24 && verbOf('shell', text).length <= 40;

test('no text of a policy makes them throw, and their number is bounded', () => {
  assert(property(string({ unit: 'binary', maxLength: 200 }), isBounded), { numRuns: 30 });
});
