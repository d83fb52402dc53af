import { join } from 'node:path';

/**
 * What is tested with one virtual environment: the client alone, its adapter for a framework beside the real package, or a
 * framework's own way to the fleet.
 */
export type Suite = {
  /** It is chosen by this, or by the part before its hyphen. */
  readonly name: string;
  /** The oldest Python that has what the lock names. */
  readonly oldest: `3.${number}`;
  readonly lock: string;
  /** The folder of its tests, below `clients/python`. */
  readonly tests: string;
  /** What pytest is given where nobody names tests: a process for each, with a fleet of its own. */
  readonly parts: readonly (readonly string[])[];
  /** For pyright: what is checked beside the packages of this environment. */
  readonly types: string;
  /** Played by `--all` only. */
  readonly isSlow: boolean;
};

export const client = join(import.meta.dirname, '../../clients/python');

const adapter = (name: string, isSlow = false): Suite => ({
  name,
  oldest: '3.12',
  lock: join(client, `locks/${name}.txt`),
  tests: `tests/with_${name}`,
  parts: [[`tests/with_${name}`]],
  types: join(client, `tests/with_${name}/pyrightconfig.json`),
  isSlow,
});

/** Stock clients of E2B, without any of ours: its SDK alone, and what frameworks make of it. */
const overE2b = (framework: string): Suite => ({
  ...adapter(framework, true),
  name: `e2b-${framework}`,
  tests: `tests/with_e2b/with_${framework}`,
  parts: [[`tests/with_e2b/with_${framework}`]],
  types: join(client, `tests/with_e2b/with_${framework}/pyrightconfig.json`),
});

/** It also builds the package and has what formats and lints all of it. */
export const core: Suite = {
  name: 'core',
  oldest: '3.11',
  lock: join(client, 'locks/core.txt'),
  tests: 'tests',
  parts: [['tests/test_job.py'], ['tests', '--ignore=tests/test_job.py']],
  types: client,
  isSlow: false,
};

/** Half of its time goes into controls. */
const harbor: Suite = {
  ...adapter('harbor'),
  parts: [
    ['tests/with_harbor/test_controls.py'],
    ['tests/with_harbor', '--ignore=tests/with_harbor/test_controls.py'],
  ],
};

/** The same tests with the previous version. */
const before = (suite: Suite, version: string): Suite => ({
  ...suite,
  name: `${suite.name}-${version}`,
  lock: suite.lock.replace('.txt', `${version}.txt`),
  isSlow: true,
});

export const suites: readonly Suite[] = [
  core,
  before(harbor, '25'),
  harbor,
  adapter('verifiers'),
  adapter('e2b'),
  before(overE2b('harbor'), '25'),
  overE2b('harbor'),
  overE2b('verifiers'),
  adapter('trl', true),
];

export type Chosen = {
  readonly suites: readonly Suite[];
  /** For pytest. */
  readonly rest: readonly string[];
  /** For vitest, which plays the tests of the TypeScript client; null: none of them. */
  readonly ofTypescript: readonly string[] | null;
};

/**
 * What the words after `npm run test:clients --` choose: suites by their names, all of them by `--all`, else what is not
 * slow. The rest goes to pytest: of the suites whose files it names, else of the core alone where no suite is named. `typescript`
 * and files below `test/clients` choose the tests of the TypeScript client.
 */
export function choose(args: readonly string[]): Chosen {
  const own = args.filter((arg) => arg.startsWith('test/clients/'));
  const left = args.filter((arg) => arg !== 'typescript' && !own.includes(arg));
  const [isAsked, isAll] = [left.length < args.length, left.every((arg) => arg === '--all')];
  if (isAsked && isAll) return { suites: [], rest: [], ofTypescript: own };
  return { ...ofPython(left), ofTypescript: isAsked || isAll ? own : null };
}

function ofPython(args: readonly string[]): Pick<Chosen, 'suites' | 'rest'> {
  const named = suites.filter(({ name }) => isNamed(args, name));
  const rest = args.filter((arg) => arg !== '--all' && !named.some(({ name }) => isNamed([arg], name)));
  if (named.length > 0) return { suites: named, rest };
  if (args.includes('--all')) return { suites, rest };
  const files = rest.filter(isFile);
  if (files.length > 0) return { suites: [...new Set(files.map(suiteOf))], rest };
  return { suites: rest.length > 0 ? [core] : suites.filter(({ isSlow }) => !isSlow), rest };
}

export const isFile = (arg: string): boolean => arg.startsWith('tests/');

const isNamed = (args: readonly string[], name: string): boolean =>
  args.some((arg) => arg === name || arg === name.split('-', 1)[0]);

/** The innermost of the folders that hold it: within the core's is that of E2B's SDK, and within that one those of frameworks. */
export const suiteOf = (file: string): Suite =>
  suites.findLast(({ tests }) => file.startsWith(`${tests}/`)) ?? core;
