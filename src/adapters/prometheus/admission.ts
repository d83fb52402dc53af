import type { Labels } from './catalogue/spec.ts';

type Said = Readonly<Record<string, string>>;

type Admission = {
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

/** Stands for whatever is none of the values that a label may have. */
const unknown = 'unknown';

/** Most environments of which this process makes series, those included that are gone by now; far above any fleet's. */
const mostNames = 400;

/** The environments that have series of their own. */
export type EnvironmentNames = {
  /** The name, or `unknown`: whatever a caller or a policy says, it makes no series. */
  admit(name: string): string;
  /** Takes in those that came since; they are told to whoever asked for them. */
  look(): void;
  /** Told of every name that is or will be known, once. */
  onNew(hear: (name: string) => void): void;
};

/** `inForce` is asked when somebody looks, and when a name is met that was not there then: environments come by reload. */
export function createEnvironmentNames(inForce: () => readonly string[]): EnvironmentNames {
  const known = new Set<string>();
  const listeners: ((name: string) => void)[] = [];
  const look = () => {
    for (const name of inForce()) {
      if (known.has(name) || known.size >= mostNames) continue;
      known.add(name);
      for (const hear of listeners) hear(name);
    }
  };
  return {
    admit: (name) => {
      if (!known.has(name)) look();
      return known.has(name) ? name : unknown;
    },
    look,
    onNew: (hear) => {
      for (const name of known) hear(name);
      listeners.push(hear);
    },
  };
}
