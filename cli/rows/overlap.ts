import { at, type Prompt, promptFields, promptOf } from '#src/model/dataset.ts';
import type { Item, Json } from '#src/model/grader.ts';

/** What train and eval have in common by one measure: how much of the one a model has seen after it learned the other. */
export type Overlap = {
  /** `id`, `row` (all of it but its id), `prompt`, or a field that the environment calls disjoint. */
  readonly by: string;
  /** Values that are in both splits. */
  readonly shared: number;
  /** Rows that have one of these, of how many. */
  readonly train: { readonly rows: number; readonly of: number };
  readonly eval: { readonly rows: number; readonly of: number };
  /** The first three of these values, for people. */
  readonly examples: readonly string[];
};

type Measure = readonly [by: string, of: (item: Item) => Json | undefined];

/**
 * By ids, whole rows and prompts always, since a repeat there is never meant; by other fields where the environment says
 * that they must be disjoint: repositories, documents. Measures by which nothing is shared are left out.
 */
export function overlapOf(
  train: readonly Item[],
  evaluated: readonly Item[],
  { prompt, disjoint }: { readonly prompt?: Prompt; readonly disjoint: readonly string[] },
): readonly Overlap[] {
  const measures: readonly Measure[] = [
    ['id', (item) => item['id']],
    ['row', ({ id: _id, ...rest }) => (Object.keys(rest).length > 0 ? rest : undefined)],
    // One that is the same for every row is meant to be.
    ...(prompt === undefined || promptFields(prompt).length === 0
      ? []
      : [['prompt', (item: Item) => wordsOf(prompt, item)] as const]),
    ...disjoint.map((field) => [field, (item: Item) => at(item, field)] as const),
  ];
  return measures.flatMap((measure) => shareOf(measure, train, evaluated));
}

/** What a model reads, whatever its case and spaces. */
function wordsOf(prompt: Prompt, item: Item): Json | undefined {
  const told = promptOf(prompt, item);
  if ('missing' in told) return undefined;
  return told.messages.map(({ content }) => content.toLowerCase().replaceAll(/\s+/g, ' ').trim());
}

function shareOf([by, of]: Measure, train: readonly Item[], evaluated: readonly Item[]): readonly Overlap[] {
  const keysOf = (items: readonly Item[]) => items.map((item) => keyOf(of(item)));
  const [trained, tested] = [keysOf(train), keysOf(evaluated)];
  const shared = new Set(trained.flatMap((key) => key ?? [])).intersection(
    new Set(tested.flatMap((key) => key ?? [])),
  );
  if (shared.size === 0) return [];
  const having = (keys: readonly (string | null)[]) => ({
    rows: keys.filter((key) => key !== null && shared.has(key)).length,
    of: keys.length,
  });
  const examples = [...shared].slice(0, 3).map((key) => key.slice(0, 80));
  return [{ by, shared: shared.size, train: having(trained), eval: having(tested), examples }];
}

/** Null where there is nothing that could be shared. */
const keyOf = (value: Json | undefined): string | null =>
  value === undefined || value === null ? null : JSON.stringify(inOrder(value));

/** Rows that say the same in another order of their fields are the same. */
function inOrder(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each: Json) => inOrder(each));
  const fields = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(fields.map(([key, each]) => [key, inOrder(each)]));
}

export function describeOverlap({ by, shared, train, eval: evaluated, examples }: Overlap): string {
  const values = `${shared} ${shared === 1 ? 'value' : 'values'} of ${by}`;
  return `warning: train and eval share ${values}: ${partOf(train)} of train, ${partOf(evaluated)} of eval, such as ${examples.join(', ')}`;
}

const partOf = ({ rows, of }: Overlap['train']): string =>
  `${rows} of ${of} rows (${Math.round((100 * rows) / of)} %)`;
