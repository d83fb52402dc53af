import { timingSafeEqual } from 'node:crypto';
import { runId, tenantId } from '../model/ids.ts';
import { sha256Of } from './create-key.ts';
import type { Grant } from './keys.ts';

/** What the development key of one machine allows: everything in a tenant of its own, and to see the whole fleet. */
export const developmentGrant: Grant = {
  keyId: 'development',
  tenant: tenantId('development'),
  scopes: ['admin', 'fleet'],
  defaultRun: runId('development'),
};

/** Where a request came from. `forwarded`: it carries the mark of a proxy, so the address is the proxy's. */
export type Origin = { readonly remoteAddress: string; readonly forwarded: boolean };

/** Whether the text is the configured development key and comes from this very machine. */
export function isDevelopmentKey(presented: string, configured: string | null, origin: Origin): boolean {
  if (configured === null || origin.forwarded || !isLoopback(origin.remoteAddress)) return false;
  return timingSafeEqual(sha256Of(presented), sha256Of(configured));
}

function isLoopback(address: string): boolean {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  return plain === '::1' || /^127(\.\d{1,3}){3}$/.test(plain);
}
