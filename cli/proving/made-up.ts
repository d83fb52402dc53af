import { type Environment, isOpenTemplate, type Tool } from '#src/model/environment.ts';
import { topLevelField, type GraderLeaf, graderLeaves, referenceOf } from '#src/model/grader-leaves.ts';
import type { Grader, Item, Json, RowFiles } from '#src/model/grader.ts';

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

/** What a sentence of arguments needs: the schema says which, these say what to try where it does not say more. */
const byName: Readonly<Record<string, string>> = {
  command: 'echo corral preflight; pwd',
  path: '.',
  pattern: 'corral',
  query: 'corral',
  content: 'written by corral preflight\n',
};

/** Files are read and written under this name, so that a read after a write finds something. */
const sampleFile = 'corral-preflight.txt';

type Schema = Readonly<Record<string, unknown>>;

/** Arguments that the tool's own schema accepts: everything required and nothing else. */
export function sampleArguments({
  name,
  parameters,
}: Pick<Tool, 'name' | 'parameters'>): Record<string, unknown> {
  const properties = (parameters['properties'] ?? {}) as Readonly<Record<string, Schema>>;
  const required = (parameters['required'] ?? []) as readonly string[];
  return Object.fromEntries(required.map((key) => [key, sampleValue(name, key, properties[key] ?? {})]));
}

function sampleValue(tool: string, name: string, schema: Schema): unknown {
  const given = [schema['const'], schema['default'], firstOf(schema['examples']), firstOf(schema['enum'])];
  const found = given.find((value) => value !== undefined);
  if (found !== undefined) return found;
  switch (schema['type']) {
    case 'integer':
    case 'number':
      return schema['minimum'] ?? 1;
    case 'boolean':
      return false;
    case 'array':
      return [];
    case 'object':
      return {};
    default:
      return name === 'path' && /file/.test(tool) && !/list/.test(tool)
        ? sampleFile
        : (byName[name] ?? 'corral');
  }
}

const firstOf = (list: unknown): unknown =>
  Array.isArray(list) ? (list as readonly unknown[])[0] : undefined;
