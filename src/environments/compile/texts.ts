import type { Texts } from '#src/model/environment.ts';
import type { Report } from '../mistakes.ts';
import type { EnvironmentYaml } from '../schema/environment.ts';

type TextsYaml = NonNullable<EnvironmentYaml['texts']>;

/** What the model reads from us where an environment says nothing else. */
const defaults = {
  exitCode: '[exit code {code}]',
  signalled: '[killed by signal {signal}]',
  timedOut: '[timed out after {seconds} s]',
  bytesCut: '[{bytes} bytes cut]',
  notStarted: 'Error: the command could not be started: {reason}',
  badArguments: 'Error: bad arguments: {reason}',
  unknownTool: 'Error: there is no tool {tool}. There are: {tools}',
  budgetSpent: 'Error: all {limit} tool calls are used. Nothing ran. Give your answer now.',
  tooManyAtOnce: 'Error: too many calls at once. Nothing ran. Wait for those that run.',
  timeSpent: 'Error: the {minutes} minutes for this task are over. Nothing ran. Give your answer now.',
  outOfMemory: '[out of memory: a process of this command was killed]',
  brokeSandbox:
    'Error: the sandbox went down while this command ran ({reason}). Nothing more can run. Give your answer now.',
  sandboxBroken: 'Error: an earlier command broke the sandbox ({reason}). Nothing ran. Give your answer now.',
  cancelled: '[cancelled]',
} satisfies Texts;

const names = {
  exitCode: 'exit_code',
  signalled: 'signalled',
  timedOut: 'timed_out',
  bytesCut: 'bytes_cut',
  notStarted: 'not_started',
  badArguments: 'bad_arguments',
  unknownTool: 'unknown_tool',
  budgetSpent: 'budget_spent',
  tooManyAtOnce: 'too_many_at_once',
  timeSpent: 'time_spent',
  outOfMemory: 'out_of_memory',
  brokeSandbox: 'broke_sandbox',
  sandboxBroken: 'sandbox_broken',
  cancelled: 'cancelled',
} as const satisfies Record<keyof Texts, keyof TextsYaml>;

/** The texts with defaults filled in. A `{word}` that nothing fills would stand before the model as it is: a mistake. */
export function compileTexts(yaml: TextsYaml, report: Report): Texts {
  const text = (key: keyof Texts): string => {
    const written = yaml[names[key]];
    if (written !== undefined)
      checkWords(written, defaults[key], (message) => report(['texts', names[key]], message));
    return written ?? defaults[key];
  };
  return {
    exitCode: text('exitCode'),
    signalled: text('signalled'),
    timedOut: text('timedOut'),
    bytesCut: text('bytesCut'),
    notStarted: text('notStarted'),
    badArguments: text('badArguments'),
    unknownTool: text('unknownTool'),
    budgetSpent: text('budgetSpent'),
    tooManyAtOnce: text('tooManyAtOnce'),
    timeSpent: text('timeSpent'),
    outOfMemory: text('outOfMemory'),
    brokeSandbox: text('brokeSandbox'),
    sandboxBroken: text('sandboxBroken'),
    cancelled: text('cancelled'),
  };
}

function checkWords(written: string, example: string, mistaken: (message: string) => void): void {
  const known = wordsIn(example);
  const strange = wordsIn(written).find((word) => !known.includes(word));
  if (strange === undefined) return;
  mistaken(
    `uses ${strange}, which nothing fills in; ${known.length === 0 ? 'it has no words' : `there is: ${known.join(', ')}`}`,
  );
}

const wordsIn = (text: string): readonly string[] => text.match(/\{\w+\}/g) ?? [];
