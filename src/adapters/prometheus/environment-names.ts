/** Stands for whatever is none of the values that a label may have. */
export const unknown = 'unknown';

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
