import type { Tool } from '#src/model/environment.ts';

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
