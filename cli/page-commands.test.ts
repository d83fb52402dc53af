import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { describe, expect, test } from 'vitest';
import { createProgram } from './program.ts';

/* Commands that pages show must exist: those of `corral` with their options, and scripts of package.json. */

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.md'))
  .map((path) => `docs/${path}`)
  .concat('README.md', 'SECURITY.md', 'charts/corral/README.md');

/** The lines of `sh` blocks. */
const blocksOf = (page: string): readonly string[] =>
  [...page.matchAll(/^ *```sh\n([^]*?)^ *```$/gm)].flatMap(([, block = '']) =>
    block.replaceAll('\\\n', ' ').split('\n'),
  );
/** Text between backticks. */
const spansOf = (page: string): readonly string[] =>
  [...page.replaceAll(/^ *```[^]*?^ *```$/gm, '').matchAll(/`([^`]+)`/g)].map(([, span = '']) =>
    span.replaceAll('\n', ' '),
  );

/** The calls of one program, without comments, redirections and what follows a pipe. */
const callsIn = (lines: readonly string[], program: RegExp): readonly string[] =>
  lines
    .flatMap((line) => (line.split(' #')[0] ?? '').split(/ (?:&&|\|\|?) /))
    .map((call) => (call.split(/ [<>]/)[0] ?? '').trim())
    .filter((call) => program.test(call) && !call.includes('…'));

const ofCorral = /^(?:(?:npx )?corral|npm run corral(?: --)?) (?=[a-z])/;
const ofNpm = /^npm run /;

/** What the command line objects to, or null. */
function mistakeIn(call: string): CommanderError | null {
  const program = createProgram({ result: () => undefined, remark: () => undefined, width: 100 });
  disarm(program);
  const words = call
    .replace(ofCorral, '')
    .replaceAll(/['"]/g, '')
    .replace('CODE', 'sandbox_lost')
    .split(/\s+/);
  try {
    program.parse(
      words.filter((word) => word !== '--'),
      { from: 'user' },
    );
    return null;
  } catch (error) {
    if (error instanceof CommanderError) return error;
    throw error;
  }
}

function disarm(command: Command): void {
  if (command.commands.length === 0) command.action(() => undefined);
  for (const below of command.commands) disarm(below);
}

const mistakesIn = (lines: readonly string[]) =>
  callsIn(lines, ofCorral).flatMap((call) => {
    const mistake = mistakeIn(call);
    return mistake === null ? [] : [{ call, code: mistake.code, message: mistake.message }];
  });

/** A sentence may name a command without all that it needs. */
const isIncomplete = (code: string) =>
  code === 'commander.help' || /[mM]issing(?:Argument|MandatoryOptionValue)$/.test(code);

describe.each(pages)('%s', (path) => {
  const page = read(path);

  test('shows commands of corral that its command line understands', () => {
    expect(mistakesIn(blocksOf(page))).toEqual([]);
    expect(mistakesIn(spansOf(page)).filter(({ code }) => !isIncomplete(code))).toEqual([]);
  });

  test('runs only scripts of package.json', () => {
    const calls = [...callsIn(blocksOf(page), ofNpm), ...callsIn(spansOf(page), ofNpm)];
    const named = calls.map((call) => call.split(' ')[2] ?? '');
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

test('many pages show commands, and a wrong option is noticed', () => {
  const shown = pages.flatMap((page) => callsIn([...blocksOf(read(page)), ...spansOf(read(page))], ofCorral));
  expect(shown.length).toBeGreaterThan(100);
  expect(mistakesIn(['corral rows shell --for rft --splt train'])).toHaveLength(1);
  expect(isIncomplete(mistakeIn('corral rows shell --for rft --splt train')?.code ?? '')).toBe(false);
  expect(callsIn(['false || corral rows x --for y > z  # rows'], ofCorral)).toEqual([
    'corral rows x --for y',
  ]);
});
