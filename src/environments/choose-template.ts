import { Failure } from '../failure/failure.ts';
import { isOpen } from '../model/environment.ts';
import type { Environment, Image, OpenTemplate, Template } from '../model/environment.ts';
import type { Item, Json } from '../model/grader.ts';
import { digestOf } from './digest.ts';
import { imageOfRow } from './image-of-row.ts';

/**
 * The template of a rollout: the environment's own, or the one that its dataset row makes by naming an image. Pure, so
 * every gateway and controller comes to the same digest. Throws `item_missing` where the row names none and
 * `invalid_request` where it names one that may not be.
 */
export function chooseTemplate(
  environment: Pick<Environment, 'name' | 'template'>,
  item: Item | null,
): Template {
  const { name, template } = environment;
  if (!isOpen(template)) return template;
  const { field } = template.image;
  const value = item?.[field];
  if (value === undefined || value === null || value === '') throw missing(name, field);
  const chosen = imageOfRow(typeof value === 'string' ? value : null, template.image);
  if (chosen.kind === 'refused') throw notAllowed(name, field, value, chosen.because);
  return withImage(template, chosen.image);
}

/** The same for an image that was checked before. */
export function withImage({ image: _ofRow, ...body }: OpenTemplate, image: Image): Template {
  const template = { ...body, image };
  return { digest: digestOf(template), ...template };
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

function missing(environment: string, field: string): Failure {
  return new Failure(
    'item_missing',
    `environment ${environment} takes its image from the item field ${field}, and the row of this rollout does not have it; ` +
      'send the whole row as `item`',
    { evidence: { field } },
  );
}

/** As much of a value as a sentence bears. */
const shownChars = 200;

function notAllowed(environment: string, field: string, value: Json, because: string): Failure {
  const shown = textOf(value).slice(0, shownChars);
  return new Failure(
    'invalid_request',
    `environment ${environment} takes its image from the item field ${field}, which says ${JSON.stringify(shown)}, ${because}`,
    { evidence: { field, image: shown } },
  );
}
