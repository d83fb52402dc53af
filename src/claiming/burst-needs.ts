import { chooseTemplate } from '../environments/choose-template.ts';
import { Failure } from '../failure/failure.ts';
import { type Environment, isOpenTemplate, type Template } from '../model/environment.ts';
import type { Item } from '../model/grader.ts';
import type { TemplateDigest } from '../model/ids.ts';

/** A burst as it is announced: so many rollouts of whatever row, or so many of each row. */
export type Rollouts = number | readonly { readonly item: Item | null; readonly count: number }[];

/** Sandboxes of one template. */
type Need = { readonly template: Template; readonly count: number };

/**
 * How many sandboxes of which template; rows with the same image add up. Throws `item_missing` where a number alone says
 * nothing, and what choosing a template throws.
 */
export function needsOf(environment: Environment, rollouts: Rollouts): readonly Need[] {
  const { name, template } = environment;
  if (typeof rollouts === 'number') {
    if (isOpenTemplate(template)) throw rowsNeeded(name, template.image.field);
    return [{ template, count: rollouts }];
  }
  const needs = new Map<TemplateDigest, Need>();
  for (const { item, count } of rollouts) {
    const chosen = chooseTemplate(environment, item);
    const before = needs.get(chosen.digest)?.count ?? 0;
    needs.set(chosen.digest, { template: chosen, count: before + count });
  }
  return [...needs.values()];
}

/** Cut to what the pool may hold in all; the first come first. */
export function withinPool(needs: readonly Need[], max: number): readonly Need[] {
  let room = max;
  return needs
    .map((need) => {
      const count = Math.min(need.count, room);
      room -= count;
      return { ...need, count };
    })
    .filter(({ count }) => count > 0);
}

function rowsNeeded(environment: string, field: string): Failure {
  return new Failure(
    'item_missing',
    `environment ${environment} takes its image from the item field ${field}, so a number alone says nothing; ` +
      'announce with `items`, each with its row and count',
    { evidence: { field } },
  );
}
