import { readFileSync } from 'node:fs';
import type { Environment } from '#src/model/environment.ts';
import { graderFields, reservedField } from '#src/model/grader-fields.ts';
import { CommandError } from '../command-error.ts';
import { fill, namedIn } from '../proving/fill.ts';
import type { Row } from '../proving/rows.ts';
import type { Message } from './chat-endpoint.ts';

/**
 * What a model is told of a row: the text of a file with the row's fields in it; without one, the environment's description and
 * the fields that its sandbox may see. Nobody but the author knows which other fields are the truth.
 */
export function promptOf(
  known: Environment | undefined,
  file: string | undefined,
): (row: Row) => readonly Message[] {
  const system = known?.description ?? '';
  const opening: readonly Message[] = system === '' ? [] : [{ role: 'system', content: system }];
  if (file !== undefined) {
    const template = templateIn(file, known);
    return (row) => [...opening, { role: 'user', content: written(fill(template, { row, outputs: [] })) }];
  }
  if (known === undefined || system === '')
    throw new CommandError(
      'there is no prompt',
      'yours',
      'give one with --prompt, a text with {item.field} in it',
    );
  return ({ item }) => {
    const shown = Object.fromEntries(known.expose.map((field) => [field, item[field] ?? null]));
    return [...opening, { role: 'user', content: JSON.stringify(shown) }];
  };
}

const written = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function templateIn(file: string, known: Environment | undefined): string {
  const text = readPrompt(file);
  const truths = known === undefined ? [] : graderFields(known.grader).map((field) => `item.${field}`);
  const secret = namedIn(text).find((path) =>
    [...truths, reservedField].some((truth) => path === truth || path.startsWith(`${truth}.`)),
  );
  if (secret === undefined) return text;
  const next = 'take it out: a model that is told the truth says nothing of the task';
  throw new CommandError(`${file} names {${secret}}, with which the grader compares`, 'yours', next);
}

function readPrompt(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`cannot read ${file}: ${String(error)}`, 'yours', 'name a text file', error);
  }
}
