import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { Value } from 'typebox/value';
import { refusal, statusIn, wordsOf } from '../api/answer.ts';
import { type Api, type ApiOptions, parseJson, pathOf } from '../api/calls.ts';

/** Which objects: a collection's path, what it is counted as, and the label selector, if any. */
export type Collection = {
  readonly resource: string;
  readonly path: string;
  readonly labelSelector: string | null;
};

/** Some 3 MB of pods in one answer; the API server's own clients read as many at a time. */
const pageSize = '500';

/** A list that expires while it is read (etcd compacted it) is begun again, but not for ever. */
const mostBeginnings = 3;

const ListObject = Type.Object({
  metadata: Type.Object({ resourceVersion: Type.String(), continue: Type.Optional(Type.String()) }),
  items: Type.Array(Type.Unknown()),
});

type Listed<View> = { readonly version: string; readonly views: readonly View[] };

/**
 * All objects of a collection, read in pages and turned into views page by page, so that never more than a page of
 * whole objects is in memory. The version is where a watch goes on. Throws `Failure`.
 */
export async function listAll<View>(
  api: Api,
  collection: Collection,
  viewOf: (object: unknown) => View | null,
): Promise<Listed<View>> {
  for (let beginning = 1; ; beginning += 1) {
    const listed = await readPages(api, collection, viewOf, beginning === mostBeginnings);
    if (listed !== 'expired') return listed;
  }
}

async function readPages<View>(
  api: Api,
  collection: Collection,
  viewOf: (object: unknown) => View | null,
  lastTry: boolean,
): Promise<Listed<View> | 'expired'> {
  const views: View[] = [];
  let next = '';
  for (;;) {
    const answer = await api.call({
      verb: 'list',
      resource: collection.resource,
      path: collection.path,
      query: { limit: pageSize, ...selectorOf(collection), ...(next === '' ? {} : { continue: next }) },
    });
    if (answer.status === 410 && !lastTry) return 'expired';
    if (answer.status !== 200 || !Value.Check(ListObject, answer.value)) {
      throw refusal(`list ${collection.resource}`, answer);
    }
    const { metadata, items } = answer.value;
    views.push(...items.map(viewOf).filter((view) => view !== null));
    next = metadata.continue ?? '';
    // Every page of one list has the version of the first.
    if (next === '') return { version: metadata.resourceVersion, views };
  }
}

function selectorOf({ labelSelector }: Collection): Readonly<Record<string, string>> {
  return labelSelector === null ? {} : { labelSelector };
}

const watchLine = Compile(
  Type.Object({
    type: Type.Union([
      Type.Literal('ADDED'),
      Type.Literal('MODIFIED'),
      Type.Literal('DELETED'),
      Type.Literal('BOOKMARK'),
      Type.Literal('ERROR'),
    ]),
    object: Type.Unknown(),
  }),
);

const versioned = Compile(Type.Object({ metadata: Type.Object({ resourceVersion: Type.String() }) }));

type Change = { readonly type: 'changed' | 'deleted'; readonly object: unknown };

/** What one line brought. `expired`: history up to our version is gone, and only a new list helps. */
type Heard = Change | { readonly type: 'bookmark' } | { readonly type: 'expired' };

export type Stream = {
  /** The version to go on from: that of the last line. */
  version: string;
  /** Called for each change; the version has moved on already. */
  readonly onChange: (change: Change) => void;
  /** Called for each line, bookmarks too: the server is there. */
  readonly onLine: () => void;
};

/**
 * The API server ends a watch after this by itself, so that watches spread over its replicas again; client-go asks for
 * 5 to 10 minutes by chance, for the same reason as we do.
 */
const shortestLifeS = 300;
const lifeSpreadS = 300;

/** Watches from `stream.version` until the connection ends, however it does. Throws what ended it early. */
export async function watchFrom(
  options: ApiOptions,
  collection: Collection,
  stream: Stream,
  signal: AbortSignal,
): Promise<'ended' | 'expired'> {
  const body = await openWatch(options, collection, stream.version, signal);
  if (body === 'expired') return 'expired';
  for await (const line of linesOf(body)) {
    stream.onLine();
    const heard = hear(line, stream, collection);
    if (heard.type === 'expired') return 'expired';
    if (heard.type !== 'bookmark') stream.onChange(heard);
  }
  return 'ended';
}

async function openWatch(
  { credentials, connections, clock, random, onCall }: ApiOptions,
  collection: Collection,
  version: string,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array> | 'expired'> {
  const beganMs = clock.monotonicMs();
  const { tls, headers } = await credentials.current();
  const query = {
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: version,
    timeoutSeconds: String(Math.round(shortestLifeS + lifeSpreadS * random.next())),
    ...selectorOf(collection),
  };
  const { statusCode, body } = await connections.forWatches(tls).request({
    method: 'GET',
    path: pathOf(credentials.server, collection.path, query),
    headers: { ...headers, accept: 'application/json' },
    signal,
  });
  onCall({
    verb: 'watch',
    resource: collection.resource,
    code: statusCode,
    durationMs: clock.monotonicMs() - beganMs,
  });
  if (statusCode === 200) return body;
  const text = await body.text();
  if (statusCode === 410) return 'expired';
  if (statusCode === 401) credentials.forget();
  throw refusal(`watch ${collection.resource}`, { status: statusCode, value: parseJson(text) });
}

function hear(line: string, stream: Stream, { resource }: Collection): Heard {
  const value = parseJson(line);
  if (!watchLine.Check(value)) throw new Error(`no line of a watch: ${line.slice(0, 200)}`);
  const { type, object } = value;
  if (type === 'ERROR') return errorIn(object, resource);
  if (versioned.Check(object)) stream.version = object.metadata.resourceVersion;
  if (type === 'BOOKMARK') return { type: 'bookmark' };
  return { type: type === 'DELETED' ? 'deleted' : 'changed', object };
}

function errorIn(object: unknown, resource: string): Heard {
  const answer = statusIn(object);
  if (answer.status === 410) return { type: 'expired' };
  throw new Error(`the watch of ${resource} ended: ${wordsOf(answer).message}`);
}

/**
 * No object of the API server is longer: etcd takes 1.5 MiB by default, and a line is JSON of one object. What is longer
 * is no watch, and must not fill our memory.
 */
const longestLineBytes = 4 * 1024 * 1024;

/** The lines of a body as they come, without their ends; an unfinished last line is dropped. Throws on one too long. */
async function* linesOf(body: AsyncIterable<Uint8Array>, longest = longestLineBytes): AsyncGenerator<string> {
  // One piece for each chunk: a line that comes in a thousand chunks is joined once, not a thousand times.
  let pieces: Uint8Array[] = [];
  let kept = 0;
  for await (const chunk of body) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      yield Buffer.concat([...pieces, chunk.subarray(from, end)]).toString('utf8');
      pieces = [];
      kept = 0;
      from = end + 1;
    }
    if (from === chunk.length) continue;
    pieces.push(chunk.subarray(from));
    kept += chunk.length - from;
    if (kept > longest) throw new Error(`a line of a watch is longer than ${longest} bytes`);
  }
}

const newline = 0x0a;
