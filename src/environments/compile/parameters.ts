import type { JsonSchema } from '#src/model/environment.ts';
import { compileSchema } from '#src/tools/parameter-schema.ts';
import type { Path, Report } from '../mistakes.ts';

type Yaml = Readonly<Record<string, unknown>>;

/**
 * A tool's parameters as the JSON schema that the model is given and that arguments are checked by. Written either as
 * that schema, or short: `{command: string, paths: "string[]", depth: integer?, mode: {type: string, enum: [a, b],
 * optional: true}}`, where every parameter is required unless it is optional.
 */
export function compileParameters(yaml: Yaml, place: Path, report: Report): JsonSchema {
  const schema = isFullSchema(yaml) ? yaml : fromShort(yaml, place, report);
  try {
    compileSchema(schema);
  } catch (error) {
    report(place, `is no valid JSON schema: ${error instanceof Error ? error.message : String(error)}`);
  }
  return schema;
}

/** Names of the parameters that a schema declares. */
export function parameterNames(schema: JsonSchema): readonly string[] {
  return isObject(schema['properties']) ? Object.keys(schema['properties']) : [];
}

/** Parameters that are all required texts, as the placeholders of a command suggest them. */
export function textParameters(names: readonly string[]): JsonSchema {
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
  return { type: 'object', properties, required: [...names], additionalProperties: false };
}

const isFullSchema = (yaml: Yaml): boolean => yaml['type'] === 'object' && isObject(yaml['properties']);

type Parameter = { readonly name: string; readonly schema: JsonSchema; readonly optional: boolean };

function fromShort(yaml: Yaml, place: Path, report: Report): JsonSchema {
  const parameters = Object.entries(yaml).map(([name, written]): Parameter => {
    const parameter = compileParameter(name, written);
    if (parameter === null) report([...place, name], mustBe);
    return parameter ?? { name, schema: {}, optional: false };
  });
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
    required: parameters.filter(({ optional }) => !optional).map(({ name }) => name),
    additionalProperties: false,
  };
}

const mustBe =
  'must be string, number, integer or boolean, also as a list ("string[]") or optional ("string?"), ' +
  'or an object {type, description, optional, …}';

const shortType = /^(string|number|integer|boolean)(\[\])?(\?)?$/;

function compileParameter(name: string, written: unknown): Parameter | null {
  if (typeof written === 'string') {
    const [, type, list, optional] = shortType.exec(written) ?? [];
    if (type === undefined) return null;
    const schema = list === undefined ? { type } : { type: 'array', items: { type } };
    return { name, schema, optional: optional !== undefined };
  }
  if (!isObject(written) || typeof written['type'] !== 'string') return null;
  const { optional = false, ...schema } = written;
  return typeof optional === 'boolean' ? { name, schema, optional } : null;
}

function isObject(value: unknown): value is Yaml {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
