import { at, promptFields } from '#src/model/dataset.ts';
import { type Environment, isOpenTemplate } from '#src/model/environment.ts';
import { graderLeaves, referenceOf } from '#src/model/grader-leaves.ts';
import { CommandError } from '../command-error.ts';
import type { Row } from '../proving/rows.ts';

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
  throw new CommandError(`${file}: ${said}`, 'yours', 'mend these rows; nothing was written');
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
