/** Objects by name, in a folder or in S3. A name has parts between slashes, and an object appears whole or not at all. */
export interface ObjectStore {
  /** For people: where it is, without a secret. */
  readonly place: string;
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** All of it, or these bytes; null: there is no such object. */
  get(name: string, range?: ByteRange): Promise<Uint8Array | null>;
  /** In the order of their names, `prefix` ends with a slash or is empty. */
  list(prefix: string): AsyncGenerator<StoredObject>;
  /** The first parts of the names behind the prefix. */
  folders(prefix: string): Promise<readonly string[]>;
  /** An object that is not there is no error. */
  remove(name: string): Promise<void>;
}

export type ByteRange = { readonly fromByte: number; readonly bytes: number };
export type StoredObject = { readonly name: string; readonly bytes: number; readonly writtenAtMs: number };
