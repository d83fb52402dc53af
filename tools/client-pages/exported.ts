/** A name that a client exports: its description, and its declaration as written, without bodies. */
export type Exported = { readonly name: string; readonly text: string; readonly declaration: string };
