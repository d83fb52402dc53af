import type { Json } from './writing.ts';

/** Tools and grader of an environment, as `GET /v1/environments/{name}/tools` returns them. */
export type TrainingJob = {
  readonly tools: readonly Json[];
  readonly grader: Json | null;
  readonly functions: readonly {
    readonly type: 'function';
    readonly function: { readonly name: string; readonly description: string; readonly parameters: Json };
  }[];
};

/** The arguments of each tool, by its name. */
export type ToolArguments = Readonly<Record<string, Json>>;

/** TypeScript that declares `Tools`: the arguments of each tool, from their JSON schemas. */
export function formatToolTypes({ functions }: TrainingJob): string {
  const lines = functions.map(
    ({ function: { name, parameters } }) => `  readonly ${JSON.stringify(name)}: ${typeOf(parameters)};`,
  );
  return `export type Tools = {\n${lines.join('\n')}\n};\n`;
}

const plain: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** `unknown` for what has no exact type in TypeScript: the fleet checks arguments in any case. */
function typeOf(schema: unknown): string {
  const { type, enum: words, const: only, anyOf, oneOf, items, properties } = (schema ?? {}) as Json;
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(words)) return union(words.map((each) => JSON.stringify(each)));
  const either = anyOf ?? oneOf;
  if (Array.isArray(either)) return union(either.map(typeOf));
  if (Array.isArray(type))
    return union(type.map((each: unknown) => typeOf({ ...(schema as Json), type: each })));
  if (type === 'array') return `readonly (${typeOf(items)})[]`;
  if (type === 'object')
    return properties === undefined ? 'Readonly<Record<string, unknown>>' : objectType(schema);
  return plain[String(type)] ?? 'unknown';
}

const union = (types: readonly string[]): string => (types.length === 0 ? 'never' : types.join(' | '));

function objectType(schema: unknown): string {
  const { properties, required = [] } = schema as { properties: Json; required?: readonly string[] };
  const fields = Object.entries(properties).map(
    ([name, each]) =>
      `readonly ${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(each)}`,
  );
  return fields.length === 0 ? 'Readonly<Record<string, never>>' : `{ ${fields.join('; ')} }`;
}
