import { fileURLToPath } from 'node:url';

/** The root of the sources that the payload is built from. */
export const repository = fileURLToPath(new URL('../..', import.meta.url));
