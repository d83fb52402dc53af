import { WireError } from '../wire-error.ts';

/**
 * Checks of JSON by hand, since sandboxd ships without dependencies. Each takes the value and the name by which a
 * mistake is told, and throws `invalid_request`.
 */
export type Fields = Readonly<Record<string, unknown>>;

export function fields(value: unknown, name: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value));
  }
  return wrong(name, 'an object');
}

export function text(value: unknown, name: string): string {
  return typeof value === 'string' ? value : wrong(name, 'text');
}

/** Text of at most `most` characters. */
export function shortText(value: unknown, name: string, most: number): string {
  return typeof value === 'string' && value.length <= most
    ? value
    : wrong(name, `text of at most ${most} characters`);
}

/** A whole number within bounds, both included. */
export function whole(value: unknown, name: string, least: number, most: number): number {
  const isGood = typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most;
  return isGood ? value : wrong(name, `a whole number from ${least} to ${most}`);
}

export function list<Item>(
  value: unknown,
  name: string,
  item: (value: unknown, name: string) => Item,
): readonly Item[] {
  if (!Array.isArray(value)) return wrong(name, 'a list');
  return value.map((element: unknown, index) => item(element, `${name}[${index}]`));
}

export function oneOf<Choice extends string>(
  value: unknown,
  name: string,
  choices: readonly Choice[],
): Choice {
  const found = choices.find((choice) => choice === value);
  return found ?? wrong(name, `one of ${choices.join(', ')}`);
}

/** An argv: at least the program, and no NUL, which no program could be given. */
export function argv(value: unknown, name: string): readonly string[] {
  const elements = list(value, name, text);
  return elements.length > 0 && elements[0] !== '' ? elements : wrong(name, 'a program and its arguments');
}

/** An object whose values are all text. */
export function texts(value: unknown, name: string): Readonly<Record<string, string>> {
  const entries = Object.entries(fields(value, name));
  return Object.fromEntries(entries.map(([key, element]) => [key, text(element, `${name}.${key}`)]));
}

function wrong(name: string, wanted: string): never {
  throw new WireError('invalid_request', `${name} must be ${wanted}`);
}
