import type { V1Pod, V1PodList } from '@kubernetes/client-node';
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Credentials } from '#src/adapters/kubernetes/api/credentials.ts';
import { eachOf } from '#src/waiting/each-of.ts';

/**
 * What everything else is compared with: Node's own HTTP/2 client, which sends what it is given over as many connections
 * as the provider uses for calls, and does nothing else.
 */
export type BareClient = {
  /** As fast as the server takes them; resolves with the last answer. */
  create(namespace: string, pods: readonly V1Pod[]): Promise<void>;
  /** Resolves when none is left; without waiting for their nodes, if `atOnce`. */
  removeAll(namespace: string, labelSelector: string, how?: { readonly atOnce: boolean }): Promise<void>;
  /** Resolves when no pod is selected any more. */
  untilNone(namespace: string, selector: Selector): Promise<void>;
  close(): void;
};

/** As the API server takes them in a query. */
type Selector = { readonly labelSelector?: string; readonly fieldSelector?: string };

const connections = 2;
/** With Node's own 64 KiB a hundred answers of 5 KB would wait for each other. */
const windowBytes = 1024 * 1024;
/** As many on each connection as serves the server best: with all 500 at once it takes a third longer. */
const requestsAtOnce = 100;
/** Five hundred pods come or go within seconds, and five thousand within a minute. */
const waitDeadlineMs = 300_000;

export async function connectBare(credentials: Credentials): Promise<BareClient> {
  const { tls } = await credentials.current();
  const sessions: ClientHttp2Session[] = [];
  let turn = 0;
  /** One of the two in turn; a server ends those that were idle for long. */
  const next = async () => {
    turn = (turn + 1) % connections;
    const open = sessions[turn];
    if (open !== undefined && !open.closed && !open.destroyed) return open;
    const session = connect(credentials.server, { ...tls, settings: { initialWindowSize: windowBytes } });
    session.on('error', () => session.destroy());
    sessions[turn] = session;
    await once(session, 'connect');
    session.setLocalWindowSize(windowBytes);
    return session;
  };
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const { status, text } = await send(await next(), method, path, body);
    if (status < 300) return JSON.parse(text);
    throw refused(method, path, status, text);
  };
  const untilNone = async (namespace: string, selector: Selector) => {
    const path = `${podsOf(namespace)}?${query({ ...selector, limit: '1' })}`;
    const deadlineMs = Date.now() + waitDeadlineMs;
    while (Date.now() < deadlineMs) {
      const { items } = (await ask('GET', path)) as V1PodList;
      if (items.length === 0) return;
      await sleep(200);
    }
    throw new Error(`there are still pods with ${JSON.stringify(selector)} after ${waitDeadlineMs} ms`);
  };
  return {
    create: async (namespace, pods) => {
      await eachOf(pods, connections * requestsAtOnce, async (pod) => {
        await ask('POST', podsOf(namespace), pod);
      });
    },
    removeAll: async (namespace, labelSelector, { atOnce } = { atOnce: true }) => {
      const options = {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        ...(atOnce ? { gracePeriodSeconds: 0 } : {}),
      };
      const path = `${podsOf(namespace)}?${query({ labelSelector })}`;
      while (!(await isRemoved(await next(), path, options)));
      await untilNone(namespace, { labelSelector });
    },
    untilNone,
    close: () => sessions.forEach((session) => session.close()),
  };
}

const query = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString();
const podsOf = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;

const refused = (method: string, path: string, status: number, text: string) =>
  new Error(`${method} ${path}: ${status} ${text.slice(0, 300)}`);

/**
 * False where the server ran out of its minute for one request, which it tells by 504 or by ending the stream: thousands
 * take longer, and the next request goes on there.
 */
async function isRemoved(session: ClientHttp2Session, path: string, options: object): Promise<boolean> {
  const answer = await send(session, 'DELETE', path, options).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ERR_HTTP2_STREAM_ERROR') return null;
    throw error;
  });
  if (answer === null || answer.status === 504) return false;
  const { status, text } = answer;
  if (status < 300) return true;
  throw refused('DELETE', path, status, text);
}

type Answer = { readonly status: number; readonly text: string };

async function send(
  session: ClientHttp2Session,
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const headers = { ':method': method, ':path': path, 'content-type': 'application/json' };
  // Said, because Node would take a DELETE to have no body.
  const stream = session.request(headers, { endStream: body === undefined });
  const answered = once(stream, 'response') as Promise<[{ readonly ':status'?: number }]>;
  if (body !== undefined) stream.end(JSON.stringify(body));
  const [answer] = await answered;
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status: answer[':status'] ?? 0, text: Buffer.concat(chunks).toString('utf8') };
}
