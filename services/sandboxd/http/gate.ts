import type { IncomingHttpHeaders } from 'node:http';
import { bootHeader, sandboxHeader } from '#src/protocol/sandboxd/wire.ts';
import { sha256Hex } from '../sha256.ts';
import { WireError } from '../wire-error.ts';

/** Who we are, and the hash of the one token that we answer to. */
export type GateKeeper = { readonly sandbox: string; readonly boot: string; readonly tokenSha256: string };

/** `open`: anybody may ask. `token`: the boot id is only being learnt. `epoch`: it must be named and be ours. */
export type Needed = 'open' | 'token' | 'epoch';

/**
 * Lets a request in or throws `other_sandbox`, `unauthorized`, `other_boot` or `invalid_request`, in this order. The
 * sandbox comes before the token: each has its own, so at a reused address a token that is right elsewhere fails here,
 * and the caller must learn that somebody else lives here rather than that its key is bad.
 */
export function letIn(headers: IncomingHttpHeaders, keeper: GateKeeper, needed: Needed): void {
  if (needed === 'open') return;
  const sandbox = requiredHeader(headers, sandboxHeader);
  if (sandbox !== keeper.sandbox)
    throw new WireError('other_sandbox', `sandbox ${keeper.sandbox} lives here`);
  if (!isToken(headers.authorization, keeper.tokenSha256)) {
    throw new WireError('unauthorized', 'the token is not the one of this sandbox');
  }
  if (needed === 'token' && headers[bootHeader] === undefined) return;
  if (requiredHeader(headers, bootHeader) !== keeper.boot) {
    throw new WireError('other_boot', 'sandboxd has started again since; nothing ran');
  }
}

function requiredHeader(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  if (typeof value === 'string') return value;
  throw new WireError('invalid_request', `the header ${name} is missing`);
}

/** A token has 64 characters: who brings pages of them does not keep us busy with their hash. */
const bearer = /^Bearer (.{1,256})$/;

function isToken(authorization: string | undefined, tokenSha256: string): boolean {
  const token = bearer.exec(authorization ?? '')?.[1] ?? '';
  return areSame(sha256Hex(token), tokenSha256);
}

/** In the same time wherever they differ. */
function areSame(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let index = 0; index < other.length; index += 1) {
    difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  }
  return difference === 0;
}
