import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Json } from '../model/grader.ts';
import { type Arguments, parseArguments } from './arguments.ts';

/**
 * What makes two calls the same: sha256 (hex) of the tool's name and its canonical arguments, so that neither key
 * order nor the choice of text or object makes a difference. Text that is no arguments object counts as it is. `parsed`
 * is given where they were parsed before.
 */
export function callDigest(name: string, args: Json, parsed: Arguments = parseArguments(args)): string {
  // A name holds no line end, so no two pairs give the same bytes.
  return createHash('sha256')
    .update(`${name}\n${canonicalText(args, parsed)}`, 'utf8')
    .digest('hex');
}

function canonicalText(args: Json, parsed: Arguments): string {
  if (parsed.ok) return canonicalize(parsed.value) ?? '';
  if (typeof args === 'string') return args;
  // A list or a number. What is nested too deeply to be taken even here all counts as one: nothing runs for it.
  const inside = parseArguments({ '': args });
  return inside.ok ? (canonicalize(inside.value) ?? '') : '';
}
