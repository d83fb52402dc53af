import { Failure } from '../../failure/failure.ts';
import type { Item, Json, ReferencePath } from '../../model/grader.ts';
import { fieldOf } from './sample-answer.ts';

/** The truth at a path like `item.files`. Throws `item_missing` where the row has none: nobody could be scored by it. */
export function referenceAt(item: Item | null, path: ReferencePath): Json {
  const [, ...fields] = path.split('.');
  const found = fields.reduce(fieldOf, item ?? undefined);
  if (found === undefined || found === null) throw missing(path, 'is missing');
  return found;
}

/** The reference as a list of texts. Throws `item_missing` where it is neither a text, a number nor a list of them. */
export function textsAt(item: Item | null, path: ReferencePath): readonly string[] {
  const found = referenceAt(item, path);
  const values = Array.isArray(found) ? found : [found];
  return values.map((value) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'number') return String(value);
    throw missing(path, 'is neither text, a number nor a list of them');
  });
}

function missing(path: ReferencePath, what: string): Failure {
  return new Failure(
    'item_missing',
    `${path} ${what}, and the grader compares with it; mend the dataset row`,
    {
      evidence: { reference: path },
    },
  );
}
