/** Chance as an argument, ids included. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** `length` characters of [0-9a-z], for ids. */
  text(length: number): string;
}
