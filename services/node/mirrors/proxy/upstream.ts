import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { LookupFunction } from 'node:net';
import { getCACertificates } from 'node:tls';
import { closedError, type Reachable } from '../addresses.ts';

/** Asks a mirror. Rejects if it cannot be reached, breaks the connection off, or is silent. */
export type Upstream = {
  get(
    url: URL,
    asked: Pick<RequestOptions, 'method' | 'headers'>,
    signal: AbortSignal,
  ): Promise<IncomingMessage>;
};

/** Without a byte for this long a mirror has not answered. Package managers wait for 15 s and more, and then try again. */
export const silenceMs = 20_000;

/** Of its own kinds a mirror's answer has few. */
const mostHeaderBytes = 16 * 1_024;

let certificates: string[] = [];

/** A mirror of an operator's own has a certificate that the machine knows, and Node by itself does not. */
export function readSystemCertificates(): void {
  certificates = [...getCACertificates('default'), ...getCACertificates('system')];
}

export function createUpstream(isOpen: Reachable, lookup: LookupFunction): Upstream {
  // `import` would read every export; see `platform/node-http.ts`.
  const http = process.getBuiltinModule('node:http');
  const https = process.getBuiltinModule('node:https');
  // As many connections as there are requests: with fewer, a reader that does not read would keep others waiting.
  const shared = { keepAlive: true, maxFreeSockets: 16, lookup };
  const plain = new http.Agent(shared);
  const secure = new https.Agent({ ...shared, ca: certificates });
  const start = (url: URL, options: RequestOptions): ClientRequest => {
    const isSecure = url.protocol === 'https:';
    const whole = { ...options, agent: isSecure ? secure : plain, maxHeaderSize: mostHeaderBytes };
    return (isSecure ? https : http).request(url, whole);
  };
  return {
    get: (url, { method, headers }, signal) => {
      // No name is looked up for an address.
      if (isAddress(url.hostname) && !isOpen(url.hostname)) return Promise.reject(closedError(url.hostname));
      return new Promise((resolve, reject) => {
        const ask = (mayRepeat: boolean) => {
          const request = start(url, { method, headers, signal });
          request.setTimeout(silenceMs, () => request.destroy(silent(url.host)));
          request.once('response', (answer) => {
            request.setTimeout(0);
            // It may break off before a reader listens; the reader finds it broken off.
            answer.on('error', () => undefined);
            resolve(answer);
          });
          request.on('error', (error: NodeJS.ErrnoException) => {
            // A server may close a connection in the moment in which it is used again, and has read nothing then.
            if (mayRepeat && request.reusedSocket && error.code === 'ECONNRESET') ask(false);
            else reject(error);
          });
          request.end();
        };
        ask(true);
      });
    },
  };
}

const isAddress = (hostname: string) => hostname.startsWith('[') || /^[\d.]+$/.test(hostname);

export const silent = (host: string) =>
  Object.assign(new Error(`${host} gave no answer`), { code: 'ESILENT' });
