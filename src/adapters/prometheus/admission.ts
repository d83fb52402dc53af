import type { Labels } from './catalogue/spec.ts';
import { type EnvironmentNames, unknown } from './environment-names.ts';

type Said = Readonly<Record<string, string>>;

export type Admission = {
  /** The same labels, with `unknown` for whatever they may not say. */
  admit(said: Said): Said;
  /** What was said first may be something else from now on. */
  forget(): void;
};

/** Holds labels to what the catalogue lets them say. */
export function createAdmission(all: readonly Labels[], environments: EnvironmentNames): Admission {
  const parts = all.map((labels) => partOf(labels, environments));
  return {
    admit: (said) => Object.assign({}, ...parts.map((part) => part.admit(said))) as Said,
    forget: () => {
      for (const part of parts) part.forget?.();
    },
  };
}

type Part = Pick<Admission, 'admit'> & Partial<Pick<Admission, 'forget'>>;

function partOf(labels: Labels, environments: EnvironmentNames): Part {
  const { names } = labels;
  const valuesOf = (said: Said) => names.map((name) => said[name] ?? unknown);
  const take = (said: Said, isGood: boolean) =>
    Object.fromEntries(names.map((name) => [name, isGood ? (said[name] ?? unknown) : unknown]));
  switch (labels.kind) {
    case 'listed': {
      const rows = new Set(labels.rows.map(joined));
      return { admit: (said) => take(said, rows.has(joined(valuesOf(said)))) };
    }
    case 'environment':
      return { admit: ({ environment = unknown }) => ({ environment: environments.admit(environment) }) };
    case 'template':
    case 'pair':
      return { admit: (said) => take(said, true) };
    case 'seen':
      return firstOnes(labels.most, (said) => joined(valuesOf(said)), take);
  }
}

/** The first `most` values, each of at most so many characters. */
function firstOnes(
  most: number,
  keyOf: (said: Said) => string,
  take: (said: Said, isGood: boolean) => Said,
): Part {
  const seen = new Set<string>();
  const isGood = (key: string) => {
    if (key.length <= longestValue && seen.size < most) seen.add(key);
    return seen.has(key);
  };
  return { admit: (said) => take(said, isGood(keyOf(said))), forget: () => seen.clear() };
}

/** Above any pattern of an address and any version; a label is copied into every series. */
const longestValue = 200;

/** No value of a label has this character in it. */
const joined = (values: readonly string[]) => values.join('\u0000');
