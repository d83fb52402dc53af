import { nameOf, type Schema } from './document.ts';

/** A type in a few words: `string`, `Verdict`, `integer or null`, `"user" or "root"`. */
export function typeText(schema: Schema): string {
  const name = nameOf(schema);
  if (name !== null) return `[${name}](#${name.toLowerCase()})`;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeText))].join(' or ');
  if (schema.type === 'array') return `list of ${typeText(schema.items ?? {})}`;
  if (schema.properties !== undefined) return `{${fieldNames(schema)}}`;
  return typeof schema.type === 'string' ? schema.type : (schema.type?.join(' or ') ?? 'any JSON');
}

/** Names of the fields, with `?` after each that may be missing. */
export function fieldNames({ properties = {}, required = [] }: Schema): string {
  const names = Object.keys(properties);
  return names.map((name) => `\`${name}${required.includes(name) ? '' : '?'}\``).join(', ');
}

/** One line for each field. */
export function fieldLines(schema: Schema): readonly string[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).map(([name, field]) => {
    const written = `\`${name}${required.includes(name) ? '' : '?'}\``;
    const says = field.description === undefined ? '' : `: ${field.description}`;
    return `- ${written} ${typeText(field)}${says}`;
  });
}
