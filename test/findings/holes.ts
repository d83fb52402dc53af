import { attacks } from '#cli/attack/library.ts';
import type { Target } from '#cli/attack/target.ts';
import type { Script, Step } from '#cli/proving/play.ts';
import type { Chance } from '#gallery/generators/chance.ts';
import type { FoundCall } from '#src/reports/findings/runs.ts';
import { type Instead, logged, steps, workOf } from './honest.ts';

/* Every hole that `corral attack` knows, planted as a run in which the share of its attack grows. */

const work: readonly Step[] = [
  { tool: 'shell', arguments: { command: 'ls' } },
  { tool: 'read_file', arguments: { path: 'README.md' } },
  { tool: 'shell', arguments: { command: 'rg main src' } },
  { tool: 'write_file', arguments: { path: 'solution.py', content: 'print(1)\n' } },
  { tool: 'shell', arguments: { command: 'python3 solution.py' } },
];

const target: Target = {
  row: {
    item: { id: 'item-1', answer: 'forty-two', question: 'how many' },
    reference: 'forty-two',
    cheating: undefined,
  },
  others: [],
  environment: {
    grader: {
      kind: 'text',
      answer: 'output_text',
      reference: 'item.answer',
      match: 'exact',
      tolerance: 0,
      partialWithin: 0,
    },
    expose: ['question'],
  },
  work,
  smallest: [
    { tool: 'shell', arguments: { command: '' } },
    { tool: 'read_file', arguments: { path: '' } },
  ],
  run: (command) => ({ tool: 'shell', arguments: { command } }),
  read: (path) => ({ tool: 'read_file', arguments: { path } }),
};

export type Hole = {
  readonly name: string;
  /** What the attack's calls are; empty if it shows in the answer alone. */
  readonly scripts: readonly (readonly Step[])[];
};

/** No calls, calls that name nothing, or the work as it is with another answer: such calls show nothing. */
const showsInAnswer = ({ steps: made }: Script): boolean =>
  made.every(({ arguments: given }) => Object.values(given).every((value) => value === '')) ||
  (made.length === work.length && made.every(({ tool }, index) => tool === work[index]?.tool));

const holes: readonly Hole[] = attacks.map(({ name, scripts }) => ({
  name,
  scripts: scripts(target)
    .filter((script) => !showsInAnswer(script))
    .map((script) => script.steps),
}));

export const visibleHoles = holes.filter(({ scripts }) => scripts.length > 0);
export const holesInAnswers = holes.filter(({ scripts }) => scripts.length === 0).map(({ name }) => name);

const callOf = ({ tool, arguments: asked }: Step): FoundCall => ({
  tool,
  arguments: logged(asked),
  blame: null,
});

/** From some step on more and more rollouts are the attack, some after a look at the task; it is nearly always paid. */
export function planted(hole: Hole, chance: Chance): Instead {
  const [from, most] = [chance.integer(2, 4), chance.between(0.3, 0.9)];
  return (own, { nature, step, item }) => {
    const share = step < from ? 0 : (most * (step - from + 1)) / (steps - from);
    if (!own.happens(share)) return null;
    const [first, ...rest] = hole.scripts;
    if (first === undefined) return null;
    const looks = own.happens(0.5) ? workOf(own, nature, item, true, step).slice(0, own.integer(1, 3)) : [];
    return {
      calls: [...looks, ...own.pick([first, ...rest]).map(callOf)],
      score: own.happens(0.92) ? 1 : 0,
    };
  };
}
