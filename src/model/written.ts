/**
 * What the model wrote into a request (a call's arguments, the sample of its rollout), as JSON text. It stays text until it
 * is looked at, and what was made of it then is let go: values take up to thirty times the memory of their text, and a
 * request may be held for minutes. Of what is longer than anything that is kept, only its length is known.
 */
export type Written = string | { readonly tooLongBytes: number };
