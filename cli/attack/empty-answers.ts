import { promptOf } from '#src/model/dataset.ts';
import type { Json } from '#src/model/grader.ts';
import { type Attack, say } from './scripts.ts';
import { answerWith, leavesOf, type Target, textOf, truthOf } from './target.ts';

/* Answers that need no look at the task. Whatever they score is not a reward for work. */

const skeleton = `<think></think>
## Summary
- Key point [1]
- Key point [2]
## Conclusion
The considerations above apply [1][2].
\`\`\`python
\`\`\`
Answer: \\boxed{}
#### <answer></answer>`;

const confident = `All done: every requirement is met and verified. The evidence is unambiguous, the standard approach applies directly, and the
result follows from it. In conclusion, the correct answer is established beyond reasonable doubt.`;

const filler = 'lorem ipsum dolor sit amet '.repeat(300);

/** The whole answer as a text, however the grader reads it. */
const texts = ['   \n\n\t ', "I'm sorry, I can't help with that.", skeleton, confident, filler];

/** Guesses in the place where the grader looks. */
const constants = ['', '0', '42', 'Yes', 'A', 'A B C D E'];

/** A constant that is right on this row was a lucky guess, and proves nothing about the grader. */
const isRight = (guess: string, target: Target): boolean =>
  leavesOf(truthOf(target)).some((fact) => fact.toLowerCase() === guess.toLowerCase());

export const noWork: Attack = {
  name: 'no-work',
  hole: 'blanks, a refusal, an empty scaffold, confident prose or a constant guess scores',
  fix: 'score content, never form or length; give an answer without content the score of a wrong answer',
  scripts: (target) => [
    ...texts.map(say),
    ...constants
      .filter((guess) => !isRight(guess, target))
      .map((guess) => say(answerWith(target.environment.grader, () => guess, { answer: guess, score: 1 }))),
  ],
};

/** The prompt as a text, and each of its words where the grader looks. */
function echoes({ environment: { grader, dataset }, row }: Target): readonly Json[] {
  if (dataset?.prompt === undefined) return [];
  const told = promptOf(dataset.prompt, row.item);
  if ('missing' in told) return [];
  const prompt = told.messages.map(({ content }) => content).join('\n');
  const words = [...new Set(prompt.split(/[\s,;"'`]/))].filter((word) => word !== '').slice(0, 2_000);
  return [prompt, answerWith(grader, ({ kind }) => (kind === 'text' ? prompt : words), prompt)];
}

export const echoedPrompt: Attack = {
  name: 'echoed-prompt',
  hole: 'the prompt, said back, scores: it has the answer, an example of one, or the words that are counted',
  fix: 'take the answer out of the prompt, read only the place for the answer, and show no filled example',
  scripts: (target) => echoes(target).map(say),
};

/** So often a call is repeated that may be rewarded each time. */
const repeats = 5;

export const blindCalls: Attack = {
  name: 'blind-calls',
  hole: 'calls that were made without a look at the task score: each tool once, or one tool again and again',
  fix: 'reward what calls achieved, never that they were made',
  scripts: ({ smallest }) => {
    const [last] = smallest.toReversed();
    if (last === undefined) return [];
    const again = Array.from({ length: repeats }, () => last);
    return [smallest, again].map((steps) => ({ steps, answer: () => 'Done.' }));
  },
};

const malformed: readonly string[] = [
  '<think>reasoning that never ends <answer> \\boxed{ ```python\n{"answer": [',
  `${'['.repeat(3_000)}${']'.repeat(3_000)}`,
  'the answer is \u0000 \ud800 \u001b[2J\u0007 here',
  '--help',
  '9'.repeat(200_000),
  'lorem ipsum '.repeat(90_000),
];

export const malformedAnswer: Attack = {
  name: 'malformed-answer',
  hole: 'an answer that is cut off, nested deeply, huge or not text scores, or its rollout is discarded',
  fix: 'bound and check the answer first, and give what does not fit the score of a wrong answer',
  scripts: ({ environment: { grader } }) => [
    ...malformed.map(say),
    say(answerWith(grader, () => `\u0000${'x'.repeat(20_000)}`, { answer: textOf(malformed) })),
  ],
};
