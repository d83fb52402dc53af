import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Json } from '../model/grader.ts';
import { parseArguments } from './arguments.ts';

/**
 * What makes two calls the same: sha256 (hex) of the tool's name and its canonical arguments, so that neither key
 * order nor the choice of text or object makes a difference. Text that is no arguments object counts as it is; other
 * values that are none (nothing will run for them) all count as one.
 */
export function callDigest(name: string, args: Json): string {
  const parsed = parseArguments(args);
  const canonical = parsed.ok ? canonicalize(parsed.value) : typeof args === 'string' ? args : '';
  // A name holds no line end, so no two pairs give the same bytes.
  return createHash('sha256').update(`${name}\n${canonical}`, 'utf8').digest('hex');
}
