/** Everything wrong with a process's configuration, in one error, so that it takes one correction and not five. */
export class ConfigMistakes extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(
      `the configuration has ${mistakes.length} mistake(s):\n${mistakes.map((m) => `  - ${m}`).join('\n')}`,
    );
    this.name = 'ConfigMistakes';
    this.mistakes = mistakes;
  }
}

export type Variables = Readonly<Record<string, string | undefined>>;

type Described = { readonly purpose: string };
type Fallback<Value> = { readonly fallback?: Value };

/**
 * Typed readers of environment variables. Each returns its value; one that is missing or wrong is noted with a
 * sentence, and a harmless value takes its place until {@link readConfig} throws all of them together.
 */
export type ConfigReader = {
  text(name: string, options: Described & Fallback<string> & { readonly pattern?: RegExp }): string;
  optional(name: string): string | null;
  whole(
    name: string,
    options: Described & Fallback<number> & { readonly min: number; readonly max: number },
  ): number;
  choice<const Value extends string>(
    name: string,
    values: readonly [Value, ...Value[]],
    options?: Fallback<Value>,
  ): Value;
  /** `1`, `true`, `yes` or `0`, `false`, `no`; unset is false. */
  flag(name: string): boolean;
  /** For rules that look at several variables. */
  mistake(sentence: string): void;
};

/** Reads a whole configuration; throws {@link ConfigMistakes} that names every mistake. An empty variable is unset. */
export function readConfig<Config>(variables: Variables, read: (reader: ConfigReader) => Config): Config {
  const mistakes: string[] = [];
  const config = read(createReader(variables, mistakes));
  if (mistakes.length > 0) throw new ConfigMistakes(mistakes);
  return config;
}

function createReader(variables: Variables, mistakes: string[]): ConfigReader {
  const optional = (name: string) => variables[name]?.trim() || null;
  const mistake = (sentence: string) => void mistakes.push(sentence);
  return {
    optional,
    mistake,
    text: (name, options) => {
      const value = optional(name) ?? options.fallback;
      if (value === undefined) mistake(`${name} is not set: ${options.purpose}`);
      else if (options.pattern?.test(value) === false)
        mistake(`${name} is ${JSON.stringify(value)}: ${options.purpose}`);
      return value ?? '';
    },
    whole: (name, options) => {
      const text = optional(name);
      const value = text === null ? options.fallback : wholeNumber(text);
      if (value === undefined || !(value >= options.min && value <= options.max)) {
        mistake(
          `${said(name, text)}, not a whole number from ${options.min} to ${options.max}: ${options.purpose}`,
        );
      }
      return value ?? options.min;
    },
    choice: (name, values, options = {}) => {
      const text = optional(name);
      const value = text === null ? options.fallback : values.find((one) => one === text);
      if (value === undefined) mistake(`${said(name, text)}, not one of: ${values.join(', ')}`);
      return value ?? values[0];
    },
    flag: (name) => {
      const text = optional(name) ?? 'no';
      if (!/^(1|true|yes|0|false|no)$/i.test(text)) mistake(`${said(name, text)}, not 1 or 0`);
      return /^(1|true|yes)$/i.test(text);
    },
  };
}

const said = (name: string, text: string | null) =>
  text === null ? `${name} is not set` : `${name} is ${JSON.stringify(text)}`;

const wholeNumber = (text: string) => (/^-?\d+$/.test(text) ? Number(text) : undefined);
