/**
 * Asks a backend that tools depend on whether it works, from outside of all sandboxes and over a connection of its own.
 * Null: it does; otherwise why not. Throws if this process could not ask, which is evidence of nothing.
 */
export type ProbeDependency = (address: string) => Promise<string | null>;
