import { at, type Prompt, promptFields, type PromptMessage, promptOf } from '#src/model/dataset.ts';
import { type Environment, isOpenTemplate } from '#src/model/environment.ts';
import { graderLeaves, referenceOf } from '#src/model/grader-leaves.ts';
import type { Item, Json } from '#src/model/grader.ts';
import { CommandError } from '../command-error.ts';
import type { Row } from '../proving/rows.ts';
import { docsPage } from '#src/platform/docs.ts';

/** Whose rows are written; each as the adapter of docs/clients/ reads them, or the platform. */
export const trainers = ['rft', 'trl', 'verifiers', 'harbor'] as const;
export type Trainer = (typeof trainers)[number];

/** Fields of a row in which the trainer has the prompt: a row's own would be lost there. */
export const takenBy: Readonly<Record<Trainer, readonly string[]>> = {
  rft: ['messages'],
  trl: ['prompt'],
  verifiers: [],
  harbor: [],
};

/** What is written: path → text, relative to what `--out` names; a file alone has the path ''. */
export type Written = Readonly<Record<string, string>>;

/**
 * The model reads only what the prompt says about a row. The fleet gets the whole row, because the grader needs what the model must
 * not see. The key `corral` is sent to neither: {@link Row} keeps it apart.
 */
export function writtenFor(trainer: Trainer, rows: readonly Row[], environment: Environment): Written {
  const prompt = environment.dataset?.prompt;
  if (prompt === undefined) {
    throw new CommandError(
      `${environment.name} has no prompt, and a trainer needs to know what the model is asked`,
      'yours',
      `write dataset: {prompt: TEXT} into its YAML; see ${docsPage('proving.md')}`,
    );
  }
  const asked = rows.map(({ item }) => ({ item, messages: messagesOf(prompt, item) }));
  switch (trainer) {
    case 'rft':
      return lines(asked.map(({ item, messages }) => ({ messages, ...item })));
    case 'trl':
      return lines(asked.map(({ item, messages }) => ({ prompt: messages, ...item })));
    case 'verifiers':
      return lines(asked.map(taskData));
    case 'harbor':
      return Object.assign({}, ...asked.map((one, index) => taskFolder(environment, one, index)));
  }
}

type Asked = { readonly item: Item; readonly messages: readonly PromptMessage[] };

function messagesOf(prompt: Prompt, item: Item): readonly PromptMessage[] {
  const told = promptOf(prompt, item);
  if ('messages' in told) return told.messages;
  throw new CommandError(
    `a row has no ${told.missing.join(', ')}`,
    'yours',
    'give every row what the prompt names',
  );
}

const lines = (rows: readonly Readonly<Record<string, unknown>>[]): Written => ({
  '': rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
});

const textOf = (messages: readonly PromptMessage[], role: PromptMessage['role']) =>
  messages.find((message) => message.role === role)?.content;

/** A task's data for the taskset `corral_rows`: the row stands apart, so that no name in it is one of theirs. */
function taskData({ item, messages }: Asked): Readonly<Record<string, Json | undefined>> {
  return {
    id: idOf(item),
    prompt: textOf(messages, 'user'),
    system_prompt: textOf(messages, 'system'),
    item,
  };
}

/** Where the agent leaves its last message, and `corral.harbor:CorralVerifier` reads it. */
const answerFile = '/workspace/answer.txt';

/**
 * The agent gets the instruction alone. `row.json` stays with the trainer and goes to the fleet, whose grader gives the
 * reward: tests in the agent's own sandbox could be read there.
 */
function taskFolder(environment: Environment, { item, messages }: Asked, index: number): Written {
  const folder = `${String(index + 1).padStart(5, '0')}-${plainName(item)}`;
  const said = messages.map(({ content }) => content.trim()).join('\n\n');
  const image = typeof item['image'] === 'string' ? item['image'] : environment.name;
  return {
    [`${folder}/instruction.md`]: `${said}\n\nWhen you are done, write your final answer to ${answerFile}.\n`,
    [`${folder}/task.toml`]: `version = "1.0"\n\n[environment]\ndocker_image = ${JSON.stringify(image)}\n`,
    [`${folder}/row.json`]: `${JSON.stringify(item)}\n`,
    [`${folder}/tests/test.sh`]: noTests,
  };
}

/** Harbor wants a test; a job that forgot the verifier must end by it and never give a reward. */
const noTests = `#!/bin/sh
echo 'this task is graded by the fleet: run it with --verifier-import-path corral.harbor:CorralVerifier' >&2
exit 1
`;

const idOf = ({ id }: Item): string => (typeof id === 'string' || typeof id === 'number' ? String(id) : '');

const plainName = (item: Item): string =>
  idOf(item)
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .slice(0, 60);

/** Enough to see a pattern. */
const mostProblems = 10;

/**
 * Every row must be one that a fleet can grade and a trainer can name: a rollout of another would be refused when the model
 * has done its work. `taken`: fields that the trainer uses for the prompt, in which a row's own would be lost.
 */
export function checkRows(
  rows: readonly Row[],
  environment: Environment,
  file: string,
  taken: readonly string[],
): void {
  const needed = neededBy(environment);
  const ids = new Map<string, number>();
  const problems = rows.flatMap(({ item }, index) => {
    const { id } = item;
    const own: string[] = [];
    const name = typeof id === 'number' ? String(id) : id;
    if (typeof name !== 'string' || name === '') own.push('has no id, by which its group is known');
    else if (ids.has(name)) own.push(`has the id of row ${ids.get(name)}, ${JSON.stringify(name)}`);
    else ids.set(name, index + 1);
    own.push(
      ...needed
        .filter(({ path }) => at(item, path) === undefined)
        .map(({ path, who }) => `has no ${path}, which ${who}`),
      ...taken
        .filter((field) => field in item)
        .map((field) => `has a field ${field}, which is where this trainer has the prompt`),
    );
    return own.map((problem) => `row ${index + 1} ${problem}`);
  });
  if (problems.length === 0) return;
  const others = problems.length > mostProblems ? [`and ${problems.length - mostProblems} more`] : [];
  const said = [...problems.slice(0, mostProblems), ...others].join('; ');
  throw new CommandError(`${file}: ${said}`, 'yours', 'fix these rows; nothing was written');
}

type Needed = { readonly path: string; readonly who: string };

function neededBy({ grader, expose, dataset, template }: Environment): readonly Needed[] {
  const references = graderLeaves(grader).flatMap((leaf) => referenceOf(leaf) ?? []);
  const needed = [
    ...references.map((path) => ({ path: path.slice('item.'.length), who: 'the grader compares with' })),
    ...expose.map((path) => ({ path, who: 'the environment exposes' })),
    ...(isOpenTemplate(template) ? [{ path: template.image.field, who: 'names its image' }] : []),
    ...(dataset?.prompt ? promptFields(dataset.prompt) : []).map((path) => ({
      path,
      who: 'the prompt names',
    })),
  ];
  return needed.filter(({ path }, index) => needed.findIndex((other) => other.path === path) === index);
}
