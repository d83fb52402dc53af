/** What the model asked for cannot be done; the message is for the model. */
export class ToolError extends Error {}

/** The arguments of a built-in tool, read one by one; a wrong type is the model's error and says which. */
export class ToolArguments {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: unknown) {
    if (typeof values !== 'object' || values === null) throw new ToolError('the arguments must be an object');
    this.#values = Object.fromEntries(Object.entries(values));
  }

  text(name: string): string {
    const value = this.optionalText(name);
    if (value === undefined) throw new ToolError(`${name} is missing`);
    return value;
  }

  optionalText(name: string): string | undefined {
    const value = this.#values[name];
    if (value === undefined || typeof value === 'string') return value;
    throw new ToolError(`${name} must be text`);
  }

  /** A whole number of at least `least`. */
  optionalNumber(name: string, least: number): number | undefined {
    const value = this.#values[name];
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= least) return value;
    throw new ToolError(`${name} must be a whole number, ${least} or more`);
  }

  flag(name: string): boolean {
    const value = this.#values[name];
    if (value === undefined || typeof value === 'boolean') return value ?? false;
    throw new ToolError(`${name} must be true or false`);
  }
}
