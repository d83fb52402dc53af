import { type Environment, isOpenTemplate } from '#src/model/environment.ts';
import type { Grader, Item, Json, RowFiles } from '#src/model/grader.ts';
import { topLevelField } from '#src/model/grader-fields.ts';
import { type GraderLeaf, graderLeaves, referenceOf } from '#src/model/grader-leaves.ts';

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
  if (!isOpenTemplate(template)) return [];
  const { field, allow } = template.image;
  const image = allow.find((pattern) => !pattern.includes('*'));
  return image === undefined ? [] : [[field, image]];
}

function gradedFields(grader: Grader): readonly (readonly [string, Json])[] {
  return graderLeaves(grader).flatMap((leaf) => {
    if (leaf.kind === 'command' && leaf.rowFiles !== undefined) return rowWithFiles(leaf.rowFiles);
    const reference = referenceOf(leaf);
    return reference === null ? [] : [[topLevelField(reference), unmatched(leaf)] as const];
  });
}

/** Any row that has files. */
function rowWithFiles({ field, folders }: RowFiles): readonly (readonly [string, Json])[] {
  const [first] = Object.keys(folders);
  return first === undefined ? [] : [[field, first]];
}

function unmatched(leaf: GraderLeaf): Json {
  if (leaf.kind !== 'text') return ['corral-preflight'];
  return leaf.match === 'numeric' ? '1' : 'corral-preflight';
}
