import { expect, test } from 'vitest';
import { readToolText } from '#test/parity/corral.ts';
import { isAbout, readDifferences } from '#test/parity/differences.ts';
import { comparedOf } from '#test/parity/outcome.ts';
import { argvOf, parseProbe, playsOf, readProbes } from '#test/parity/probes.ts';

/* The page and the runner of `npm run test:parity`, without what takes it minutes. */

const plays = playsOf(readProbes());

test('each difference of the page is about plays that there are', () => {
  const listed = readDifferences();
  expect(listed.length).toBeGreaterThan(10);
  expect(listed.filter((pattern) => !plays.some(({ name }) => isAbout(pattern, name)))).toEqual([]);
});

test('a probe is played for each user on each face, but a grader’s never as root', () => {
  const probe = parseProbe(
    'twice\nfaces: exec as-policy\nrun: python\nstdin: "1\\n"\n---\nprint(1)\n--- next\nprint(2)',
    'x',
  );
  expect(playsOf([probe]).map(({ name }) => name)).toEqual([
    'twice exec user',
    'twice as-policy user',
    'twice exec root',
  ]);
  expect(probe.steps.map((step) => argvOf(probe, step))).toEqual([
    ['python3', '-c', 'print(1)\n'],
    ['python3', '-c', 'print(2)\n'],
  ]);
  expect(probe.stdin).toBe('1\n');
  expect(() => parseProbe('odd\nrun: perl\n---\nx', 'x')).toThrow(/perl/);
});

test('what is compared is what the probe asks for and the face keeps', () => {
  const [exec, byPolicy] = playsOf([parseProbe('one\nfaces: exec as-policy\nusers: user\n---\ntrue', 'x')]);
  const outcome = { exit: 0, timedOut: false, stdout: 'out', stderr: 'err' };
  expect(exec && comparedOf(exec, [outcome])).toEqual([outcome]);
  expect(byPolicy && comparedOf(byPolicy, [outcome])).toEqual([{ exit: 0, timedOut: false, stdout: 'out' }]);
});

test('a tool’s text is read as exit code and output', () => {
  expect(readToolText('out\n\n[exit code 3]')).toMatchObject({ exit: 3, stdout: 'out\n' });
  expect(readToolText('[exit code 1]')).toMatchObject({ exit: 1, stdout: '' });
  expect(readToolText('out\n[killed by signal SIGKILL]')).toMatchObject({ exit: 137, stdout: 'out' });
});
