/** JSON schemas as generators of clients understand them best. */

/** `components.schemas`, by title. */
export type Schemas = Record<string, unknown>;

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The same with a reference in place of each schema that has a title; `named` gets the schema itself. */
export function nameSchemas(value: Fields, named: Schemas): Fields {
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, nameWithin(each, named)]));
}

function nameWithin(value: unknown, named: Schemas): unknown {
  if (Array.isArray(value)) return value.map((each) => nameWithin(each, named));
  if (!isObject(value)) return value;
  const { title, ...rest } = value;
  // A property of that name is a schema, and no text.
  if (typeof title !== 'string') return mapOf(nameSchemas(value, named));
  const schema = mapOf(nameSchemas(rest, named));
  const known = (named[title] ??= schema);
  if (JSON.stringify(known) !== JSON.stringify(schema))
    throw new TypeError(`two schemas are titled ${title}`);
  return { $ref: `#/components/schemas/${title}` };
}

/** What TypeBox writes of a record with any keys. Generators read `patternProperties` as an object without members. */
function mapOf(schema: Fields): Fields {
  const { patternProperties, ...rest } = schema;
  if (!isObject(patternProperties)) return schema;
  return { ...rest, additionalProperties: Object.values(patternProperties)[0] };
}

/** A schema without its `null`, and whether it had one. A schema that allows everything has it. */
export function unnullable(schema: unknown): { readonly schema: unknown; readonly isNullable: boolean } {
  const { anyOf } = schema as { readonly anyOf?: readonly Fields[] };
  if (anyOf === undefined) return { schema, isNullable: Object.keys(schema as Fields).length === 0 };
  const kept = anyOf.filter(({ type }) => type !== 'null');
  return { schema: kept.length === 1 ? kept[0] : { anyOf: kept }, isNullable: kept.length < anyOf.length };
}
