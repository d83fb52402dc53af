import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { getCACertificates } from 'node:tls';
import { closedError, lookupOpen, type Reachable } from './addresses.ts';

/** Asks a mirror. Rejects if it cannot be reached, breaks the connection off, or is silent. */
export type Upstream = {
  get(
    url: URL,
    asked: Pick<RequestOptions, 'method' | 'headers'>,
    signal: AbortSignal,
  ): Promise<IncomingMessage>;
  close(): void;
};

/** Without a byte for this long a mirror has not answered. Package managers wait for 15 s and more, and then try again. */
export const silenceMs = 20_000;

export function createUpstream(isOpen: Reachable, patienceMs = silenceMs): Upstream {
  // `import` would read every export; see `platform/node-http.ts`.
  const http = process.getBuiltinModule('node:http');
  const https = process.getBuiltinModule('node:https');
  const lookup = lookupOpen(isOpen);
  // As many connections as sandboxes have: with fewer, a policy that does not read would keep its neighbors waiting.
  const shared = { keepAlive: true, maxFreeSockets: 16, lookup };
  const plain = new http.Agent(shared);
  let secure: InstanceType<typeof https.Agent> | null = null;
  const agentOf = ({ protocol }: URL) => {
    if (protocol === 'http:') return plain;
    // A mirror of one's own has a certificate that the machine knows, and Node by itself does not.
    const ca = [...getCACertificates('default'), ...getCACertificates('system')];
    return (secure ??= new https.Agent({ ...shared, ca }));
  };
  const start = (url: URL, options: RequestOptions): ClientRequest =>
    (url.protocol === 'https:' ? https : http).request(url, { ...options, agent: agentOf(url) });

  const get: Upstream['get'] = (url, { method, headers }, signal) => {
    // No name is looked up for an address.
    if (isAddress(url.hostname) && !isOpen(url.hostname)) return Promise.reject(closedError(url.hostname));
    return new Promise((resolve, reject) => {
      const ask = (mayRepeat: boolean) => {
        const request = start(url, { method, headers, signal });
        request.setTimeout(patienceMs, () => request.destroy(silent(url.host)));
        request.once('response', (answer) => {
          request.setTimeout(0);
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
  };
  return {
    get,
    close: () => {
      plain.destroy();
      secure?.destroy();
    },
  };
}

const isAddress = (hostname: string) => hostname.startsWith('[') || /^[\d.]+$/.test(hostname);

export const silent = (host: string) =>
  Object.assign(new Error(`${host} gave no answer`), { code: 'ESILENT' });
