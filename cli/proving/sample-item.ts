import { type Environment, isOpen } from '#src/model/environment.ts';
import type { Grader, Item, Json } from '#src/model/grader.ts';

/**
 * A dataset row that fits the environment, for a preflight without real rows: every field that it exposes and every
 * field that its grader reads, with values that no answer matches, and an image where its rows name them and
 * one is allowed by its whole name. Else only real rows know one, and the gateway says so.
 */
export function sampleItem({
  expose,
  grader,
  template,
}: Pick<Environment, 'expose' | 'grader' | 'template'>): Item {
  const exposed = expose.map((field) => [field, 'corral-preflight'] as const);
  const fields = [...exposed, ...gradedFields(grader), ...imageField(template)];
  return Object.fromEntries([['id', 'corral-preflight'], ...fields]);
}

function imageField(template: Environment['template']): readonly (readonly [string, Json])[] {
  if (!isOpen(template)) return [];
  const { field, allow } = template.image;
  const image = allow.find((pattern) => !pattern.includes('*'));
  return image === undefined ? [] : [[field, image]];
}

function gradedFields(grader: Grader): readonly (readonly [string, Json])[] {
  switch (grader.kind) {
    case 'f1':
    case 'recall':
      return [[fieldOf(grader.reference), ['corral-preflight']]];
    case 'text':
      return [[fieldOf(grader.reference), grader.match === 'numeric' ? '1' : 'corral-preflight']];
    case 'calls':
      return grader.asks === 'opened' ? [[fieldOf(grader.reference), ['corral-preflight']]] : [];
    case 'gate':
      return [...grader.all, grader.grader].flatMap(gradedFields);
    case 'weighted':
      return grader.parts.flatMap((part) => gradedFields(part.grader));
    case 'penalty':
      return gradedFields(grader.grader);
    case 'none':
    case 'command':
    case 'http':
      return [];
  }
}

/** `item.files` → `files`; a deeper path gets only its first field, which is as far as a made-up row goes. */
const fieldOf = (path: string): string => path.replace(/^item\./, '').split('.')[0] ?? path;
