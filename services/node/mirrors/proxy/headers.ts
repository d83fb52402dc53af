import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { insideOf, type MirrorPlan } from '../plan.ts';

/** Nothing of the sandbox's own goes further: no credentials, no cookies, no names of hosts. */
const askedOf = ['accept', 'if-modified-since', 'if-none-match', 'if-range', 'range', 'user-agent'] as const;

export function askedHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept = askedOf.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]));
  // Links are replaced in what can be read.
  return { ...(Object.fromEntries(kept) as OutgoingHttpHeaders), 'accept-encoding': 'identity' };
}

const answerOf = [
  'accept-ranges',
  'cache-control',
  'content-encoding',
  'content-range',
  'content-type',
  'etag',
  'last-modified',
  'retry-after',
] as const;

/** `isChanged`: links in the answer are replaced, which changes its length. */
export function answerHeaders(
  plan: MirrorPlan,
  headers: IncomingHttpHeaders,
  isChanged: boolean,
): OutgoingHttpHeaders {
  const kept = answerOf.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]));
  const length = headers['content-length'];
  return {
    ...(Object.fromEntries(kept) as OutgoingHttpHeaders),
    ...(headers.location !== undefined && { location: locationInside(plan, headers.location) }),
    ...(length !== undefined && !isChanged && { 'content-length': length }),
  };
}

const locationInside = (plan: MirrorPlan, location: string) =>
  URL.canParse(location) ? insideOf(plan, location) + new URL(location).search : location;
