import type { FastifyRequest } from 'fastify';
import { Failure } from '#src/failure/failure.ts';
import { isLoopbackName } from '../config.ts';
import { type App, pathOf } from './app.ts';

/** Asked by probes, which know an address and no name. */
export const healthPath = '/healthz';

/**
 * Checks where a request comes from before anything else. A name that is not ours in `Host` is another site whose name leads here.
 * What reads data or logs in must come from our own page: a cookie alone is no proof, because other sites may cause requests with it.
 */
export function guardRequests(app: App, origins: readonly URL[]): void {
  const names = new Set(origins.map(({ hostname }) => hostname));
  app.addHook('onRequest', (request, _reply, done) => {
    const path = pathOf(request);
    if (path === healthPath) return done();
    if (!isOurs(request.headers.host, names))
      return done(new Failure('invalid_request', 'this host name is not in CORRAL_CONSOLE_ORIGINS'));
    const needsOwnPage = path.startsWith('/api/') || path === '/session';
    if (needsOwnPage && !isFromOwnPage(request))
      return done(new Failure('invalid_request', 'only the pages of this console may ask this'));
    done();
  });
}

function isOurs(host: string | undefined, names: ReadonlySet<string>): boolean {
  const url = URL.parse(`http://${host ?? ''}`);
  if (url === null || url.host === '') return false;
  return names.has(url.hostname) || (names.size === 0 && isLoopbackName(url.hostname));
}

/** Browsers set the first by themselves; no page of another site can send the second. */
const isFromOwnPage = ({ headers }: FastifyRequest): boolean =>
  headers['sec-fetch-site'] === 'same-origin' || headers['x-corral-console'] === '1';
