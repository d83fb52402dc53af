import { createHash } from 'node:crypto';
import type { Random } from '../ports/random.ts';
import { isKeyId } from '../model/ids.ts';
import type { ApiKey } from './keys.ts';

/** 40 characters of 36 are 206 bits: not guessable, also offline against a stolen file of hashes. */
const secretLength = 40;

/**
 * A new key and the text to present, `corral_<id>_<secret>`; the text exists only in this answer. Throws a RangeError
 * for an id that is not lower-case letters, digits and dashes.
 */
export function createKey(
  description: Omit<ApiKey, 'sha256'>,
  random: Random,
): { readonly key: ApiKey; readonly presented: string } {
  if (!isKeyId(description.id)) {
    throw new RangeError(`key id "${description.id}": use 1 to 40 lower-case letters, digits and dashes`);
  }
  const presented = `corral_${description.id}_${random.text(secretLength)}`;
  return { key: { ...description, sha256: sha256Of(presented).toString('hex') }, presented };
}

export function sha256Of(presented: string): Buffer {
  return createHash('sha256').update(presented).digest();
}
