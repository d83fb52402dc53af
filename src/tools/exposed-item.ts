import canonicalize from 'canonicalize';
import { Failure } from '../failure/failure.ts';
import type { Environment } from '../model/environment.ts';
import type { Item, Json } from '../model/grader.ts';

/** The item fields that may enter the sandbox, as text, by field name. */
export type ExposedItem = Readonly<Record<string, string>>;

/**
 * Takes the exposed fields out of a dataset row: text as it is, numbers and booleans in words, anything else as JSON.
 * Throws `Failure('item_missing')` when the row lacks one: then nothing could be set up for the task.
 */
export function exposedItem(
  environment: Pick<Environment, 'name' | 'expose'>,
  item: Item | null,
): ExposedItem {
  return Object.fromEntries(
    environment.expose.map((field) => [field, textOf(environment.name, field, item?.[field])]),
  );
}

function textOf(environment: string, field: string, value: Json | undefined): string {
  if (value === undefined || value === null) {
    throw new Failure(
      'item_missing',
      `environment ${environment} exposes the item field ${field}, and the row of this rollout does not have it; ` +
        'send the whole row as `item`, or take the field off `expose`',
      { evidence: { field } },
    );
  }
  if (typeof value === 'string') return value.toWellFormed();
  return canonicalize(value) ?? '';
}

/** The same for commands: `repo` becomes `CORRAL_ITEM_REPO`; what cannot stand in a variable's name becomes `_`. */
export function itemVariables(exposed: ExposedItem): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(exposed).map(([field, text]) => [
      `CORRAL_ITEM_${field.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`,
      text,
    ]),
  );
}
