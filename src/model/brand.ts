/** A value that only its own constructor can make, so that two kinds of string cannot be swapped. */
export type Brand<Value, Name extends string> = Value & { readonly __brand: Name };
