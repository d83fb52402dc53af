import { once } from 'node:events';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { makeCertificate } from './certificate.ts';

type Dictionary = Record<string, unknown>;
type Pod = Dictionary & { metadata: Dictionary & { name: string; resourceVersion: string } };
type Change = { readonly version: number; readonly type: string; readonly object: unknown };

export type Named = Readonly<Dictionary> & {
  readonly metadata: Readonly<Dictionary> & { readonly name: string };
};

export type Asked = { readonly method: string; readonly path: string; readonly query: URLSearchParams };

/** What a test answers instead of the server; `hang` answers nothing, `reset` breaks the stream. */
export type Scripted =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: object }
  | 'hang'
  | 'reset';

/**
 * An API server as far as the wire goes: TLS, HTTP/2, collections with versions, pages and watches. It knows nothing of
 * pods but their names; a test says what happens to them, and can answer a call itself.
 */
export type ScriptedApi = {
  readonly url: string;
  readonly ca: string;
  readonly asked: Asked[];
  /** Connections that were ever opened. */
  connections(): number;
  watches(): number;
  /** Answers the next call that matches. */
  next(match: (asked: Asked) => boolean, answer: Scripted): void;
  /** Puts a pod as it is now, and tells watches. */
  put(pod: Named): void;
  remove(name: string): void;
  pod(name: string): Pod | undefined;
  putNode(node: Named): void;
  /** Moves the version on, and says only that. */
  bookmark(): void;
  /** Sends text to the watches of pods, as it is. */
  say(text: string): void;
  cutWatches(): void;
  /** Forgets history: watches from older versions are answered 410. */
  compact(): void;
  close(): Promise<void>;
};

type Collection = {
  readonly objects: Map<string, Pod>;
  history: Change[];
  readonly watches: Set<Http2ServerResponse>;
};

export async function startScriptedApi(): Promise<ScriptedApi> {
  const certificate = await makeCertificate();
  const pods: Collection = { objects: new Map(), history: [], watches: new Set() };
  const nodes: Collection = { objects: new Map(), history: [], watches: new Set() };
  const scripts: { readonly match: (asked: Asked) => boolean; readonly answer: Scripted }[] = [];
  const asked: Asked[] = [];
  const sockets = new Set<TLSSocket>();
  let connections = 0;
  let version = 1;
  let oldest = 0;

  const tell = (collection: Collection, change: Omit<Change, 'version'>) => {
    collection.history.push({ ...change, version });
    for (const watch of collection.watches) watch.write(`${JSON.stringify(change)}\n`);
  };
  const put = (collection: Collection, object: Dictionary & { metadata: { name: string } }) => {
    version += 1;
    const { name } = object.metadata;
    const type = collection.objects.has(name) ? 'MODIFIED' : 'ADDED';
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    collection.objects.set(name, stored);
    tell(collection, { type, object: stored });
    return stored;
  };
  const remove = (name: string) => {
    const pod = pods.objects.get(name);
    if (pod === undefined) return;
    version += 1;
    pods.objects.delete(name);
    const object = { ...pod, metadata: { ...pod.metadata, resourceVersion: String(version) } };
    tell(pods, { type: 'DELETED', object });
  };

  const list = (collection: Collection, query: URLSearchParams) => {
    const from = Number(query.get('continue') ?? 0);
    const limit = Number(query.get('limit') ?? Number.POSITIVE_INFINITY);
    const all = [...collection.objects.values()];
    const rest = from + limit < all.length ? { continue: String(from + limit) } : {};
    return { metadata: { resourceVersion: String(version), ...rest }, items: all.slice(from, from + limit) };
  };
  const watch = (collection: Collection, from: number, response: Http2ServerResponse) => {
    if (from < oldest) return answer(response, 410, gone);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.stream.on('error', () => undefined);
    for (const { version: at, ...change } of collection.history) {
      if (at > from) response.write(`${JSON.stringify(change)}\n`);
    }
    collection.watches.add(response);
    response.once('close', () => collection.watches.delete(response));
    // Headers alone wait in the server's buffer otherwise.
    response.stream.resume();
  };
  const create = async (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const pod = JSON.parse(await bodyOf(request)) as Pod;
    if (pods.objects.has(pod.metadata.name)) return answer(response, 409, { reason: 'AlreadyExists' });
    version += 1;
    const metadata = { ...pod.metadata, uid: `uid-${version}`, creationTimestamp: '2026-01-01T00:00:00Z' };
    answer(response, 201, put(pods, { ...pod, metadata }));
  };
  const change = async (request: Http2ServerRequest, response: Http2ServerResponse, name: string) => {
    const body = await bodyOf(request);
    const pod = pods.objects.get(name);
    if (pod === undefined) return answer(response, 404, { reason: 'NotFound' });
    if (request.method === 'GET') return answer(response, 200, pod);
    if (request.method === 'DELETE') remove(name);
    else put(pods, merge(pod, JSON.parse(body) as Dictionary) as Pod);
    answer(response, 200, pods.objects.get(name) ?? pod);
  };

  const serve = async (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url, 'https://api');
    const call: Asked = { method: request.method, path: pathname, query: searchParams };
    asked.push(call);
    const index = scripts.findIndex(({ match }) => match(call));
    const [script] = index < 0 ? [] : scripts.splice(index, 1);
    if (script !== undefined) return scripted(response, script.answer);
    const collection = pathname.includes('/nodes') ? nodes : pods;
    const name = /\/pods\/(.+)$/.exec(pathname)?.[1];
    if (pathname.endsWith('/events')) return answer(response, 200, { items: [] });
    if (searchParams.get('watch') === 'true') {
      return watch(collection, Number(searchParams.get('resourceVersion')), response);
    }
    if (name !== undefined) return change(request, response, name);
    if (request.method === 'POST') return create(request, response);
    answer(response, 200, list(collection, searchParams));
  };

  const server = createSecureServer({ ...certificate, allowHTTP1: true }, (request, response) => {
    void serve(request, response);
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: certificate.cert,
    asked,
    connections: () => connections,
    watches: () => pods.watches.size,
    next: (match, scripted) => void scripts.push({ match, answer: scripted }),
    put: (pod) => void put(pods, pod),
    remove,
    pod: (name) => pods.objects.get(name),
    putNode: (node) => void put(nodes, node),
    bookmark: () => {
      version += 1;
      const object = { kind: 'Pod', metadata: { resourceVersion: String(version) } };
      for (const each of pods.watches) each.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
    },
    say: (text) => pods.watches.forEach((each) => each.write(text)),
    cutWatches: () => {
      for (const each of pods.watches) each.stream.close();
      // What is told from now on reaches none of them.
      pods.watches.clear();
    },
    compact: () => {
      version += 1;
      oldest = version;
      pods.history = [];
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };

function answer(response: Http2ServerResponse, status: number, body: object, headers = {}): void {
  const kind = status >= 300 ? { kind: 'Status', code: status } : {};
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ ...kind, ...body }));
}

function scripted(response: Http2ServerResponse, script: Scripted): void {
  if (script === 'reset') return response.stream.close(2);
  if (script !== 'hang') answer(response, script.status, script.body ?? {}, script.headers);
}

async function bodyOf(request: Http2ServerRequest): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** JSON merge patch (RFC 7386), without deletion by null. */
function merge(into: Dictionary, patch: Dictionary): Dictionary {
  const merged = Object.entries(patch).map(([name, value]) => {
    const before = into[name];
    return [name, isDictionary(value) && isDictionary(before) ? merge(before, value) : value];
  });
  return { ...into, ...Object.fromEntries(merged) };
}

const isDictionary = (value: unknown): value is Dictionary =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
