/** A node of a syntax tree. */
export type CNode = {
  readonly type: string;
  readonly text: string;
  readonly isLeaf: boolean;
  /** A part that the grammar cannot read, or that is missing. */
  readonly isBroken: boolean;
  /** Of a call: what is called. */
  readonly callee: { readonly type: string; readonly text: string } | null;
  readonly declarator: { readonly type: string; readonly text: string } | null;
  /** Whether it is outside of every function. */
  readonly isTop: boolean;
};

export function parseC(text: string): readonly CNode[];
