import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';
import { Check } from 'typebox/value';
import type { Path, Report } from '../mistakes.ts';

/** Finds every mistake in a file, and says where. */
export const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  discriminator: true,
  strict: false,
  strictNumbers: true,
  // Only files with a mistake are checked by it: making the check is most of the work, and optimizing it 40 % of that.
  code: { optimize: false },
});

/**
 * A check of one kind of YAML file: true when the value has the schema's shape, else every mistake is reported. Ajv finds
 * the mistakes. Compiling its check takes a quarter of a second, which a process that starts with good files need not wait.
 */
export function fileCheck<Schema extends TSchema>(
  schema: Schema,
): (value: unknown, report: Report) => value is Static<Schema> {
  let compiled: ValidateFunction<Static<Schema>> | undefined;
  return (value, report): value is Static<Schema> => {
    if (Check(schema, value)) return true;
    const validate = (compiled ??= ajv.compile<Static<Schema>>(schema));
    if (validate(value)) return true;
    for (const error of meaningful(validate.errors ?? [])) report(placeOf(error), sentenceOf(error));
    return false;
  };
}

/**
 * Of a value that fits none of several shapes, the checker tells what is wrong with it by each of them. Where it came
 * near to one (the mistake is inside it), only that is meant; else only that it fits none.
 */
function meaningful(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const noise = new Set<ErrorObject>();
  for (const choice of errors.filter(({ keyword }) => keyword === 'anyOf')) {
    const branches = errors.filter((error) => belongsTo(error, choice));
    const inside = branches.filter((error) => isInside(error, choice));
    for (const error of branches) if (!inside.includes(error)) noise.add(error);
    if (inside.length > 0) noise.add(choice);
  }
  return errors.filter((error) => !noise.has(error));
}

const belongsTo = (error: ErrorObject, choice: ErrorObject): boolean =>
  error.schemaPath.startsWith(`${choice.schemaPath}/`) &&
  `${error.instancePath}/`.startsWith(`${choice.instancePath}/`);

const isInside = (error: ErrorObject, choice: ErrorObject): boolean =>
  error.instancePath !== choice.instancePath ||
  error.keyword === 'required' ||
  error.keyword === 'additionalProperties';

function placeOf(error: ErrorObject): Path {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  return error.keyword === 'additionalProperties' ? [...path, textOf(error, 'additionalProperty')] : path;
}

function sentenceOf(error: ErrorObject): string {
  switch (error.keyword) {
    case 'required':
      return `needs the field ${textOf(error, 'missingProperty')}`;
    case 'additionalProperties':
      return unknownName(error);
    case 'minProperties':
      return 'must not be empty';
    default: {
      const meant: unknown = error.parentSchema?.['description'];
      return typeof meant === 'string'
        ? `must be ${meant}`
        : (error.message ?? 'is not what is expected here');
    }
  }
}

function textOf(error: ErrorObject, param: string): string {
  const params: Readonly<Record<string, unknown>> = error.params;
  return String(params[param]);
}

/** Where the author chooses the names, the schema's title says how they look; elsewhere only ours are known, and a removed one says what replaces it. */
function unknownName(error: ErrorObject): string {
  const { parentSchema } = error;
  const removed = Object.entries<string>(parentSchema?.['removed'] ?? {});
  const replaced = removed.find(([name]) => name === textOf(error, 'additionalProperty'));
  if (replaced !== undefined) return replaced[1];
  const rule: unknown = parentSchema?.['title'];
  if (typeof rule === 'string') return `has no good name: ${rule}`;
  const known: unknown = parentSchema?.['properties'];
  return `is unknown here; known are: ${Object.keys(known ?? {}).join(', ')}`;
}
