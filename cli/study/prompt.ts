import { readFileSync } from 'node:fs';
import { type Prompt, promptFields, promptOf } from '#src/model/dataset.ts';
import type { Environment } from '#src/model/environment.ts';
import { graderFields, reservedField } from '#src/model/grader-fields.ts';
import { CommandError } from '../command-error.ts';
import type { Row } from '../proving/rows.ts';
import type { Message } from './chat-endpoint.ts';

/**
 * What a model is told of a row: a text that somebody named, else the prompt of the environment's dataset; without either, its
 * description and the fields that its sandbox may see. Which other fields are the truth nobody knows but the author.
 */
export function promptFor(known: Environment | undefined, file: string | null): Prompt {
  if (file !== null) return checked({ user: readPrompt(file) }, known, file);
  const own = known?.dataset?.prompt;
  if (own !== undefined) return own;
  const description = known?.description ?? '';
  if (known === undefined || description === '')
    throw new CommandError(
      'there is no prompt',
      'yours',
      'write dataset: {prompt} into the environment, or give a text with {item.field} in it with --prompt',
    );
  const fields = known.expose.map((field) => `${field}: {item.${field}}`);
  return { system: description, user: fields.length === 0 ? 'Begin.' : fields.join('\n') };
}

export function tellRow(prompt: Prompt, { item }: Row): readonly Message[] {
  const told = promptOf(prompt, item);
  if ('messages' in told) return told.messages;
  throw new CommandError(
    `the prompt names ${told.missing.map((field) => `{item.${field}}`).join(', ')}, which row ${JSON.stringify(item['id'] ?? item).slice(0, 80)} does not have`,
    'yours',
    'give every row what the prompt names',
  );
}

/** As the prompt of a dataset is checked when it is loaded. */
function checked(prompt: Prompt, known: Environment | undefined, file: string): Prompt {
  const secret = new Set([reservedField, ...(known === undefined ? [] : graderFields(known.grader))]);
  const told = promptFields(prompt).find((path) => secret.has(path.split('.')[0] ?? ''));
  if (told === undefined) return prompt;
  const next = 'take it out: a model that is told the truth says nothing of the task';
  throw new CommandError(`${file} names {item.${told}}, with which the grader compares`, 'yours', next);
}

function readPrompt(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`cannot read ${file}: ${String(error)}`, 'yours', 'name a text file', error);
  }
}
