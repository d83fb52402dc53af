import { createHash } from 'node:crypto';
import { AwsClient } from 'aws4fetch';
import type { ObjectStore, StoredObject } from '#src/ports/object-store.ts';
import type { S3Credentials } from './credentials.ts';

export type S3StoreOptions = {
  readonly bucket: string;
  /** Before every name; empty, or ends with a slash. */
  readonly prefix: string;
  readonly region: string;
  /** Null: Amazon's own. */
  readonly endpoint: string | null;
  /** Asked before each request: a file of credentials may be renewed. */
  readonly credentials: () => Promise<S3Credentials>;
  /** Of one request; default 30 s: a segment has some MB. */
  readonly requestMs?: number;
};

/** Objects in S3, or in a store that speaks it. Requests are signed, and their bodies with them. */
export function createS3Store(options: S3StoreOptions): ObjectStore {
  const { bucket, prefix } = options;
  const keyOf = (name: string) => `${prefix}${name}`;
  const ask = (method: string, target: string, given: Given = {}) => request(options, method, target, given);
  const get = async (name: string, headers: Readonly<Record<string, string>>) => {
    const response = await ask('GET', encodeKey(keyOf(name)), { headers });
    return response.status === 404 ? null : new Uint8Array(await response.arrayBuffer());
  };
  return {
    place: `s3://${bucket}/${prefix}`,
    put: async (name, bytes) => {
      const response = await ask('PUT', encodeKey(keyOf(name)), { body: bytes });
      if (response.status === 404) throw new Error(`there is no bucket ${bucket}`);
    },
    get: (name, range) => {
      if (range === undefined) return get(name, {});
      return get(name, { range: `bytes=${range.fromByte}-${range.fromByte + range.bytes - 1}` });
    },
    async *list(within) {
      for await (const page of pagesOf(ask, { prefix: keyOf(within) }))
        for (const found of objectsIn(page)) yield { ...found, name: found.name.slice(prefix.length) };
    },
    folders: async (within) => {
      const names: string[] = [];
      const asked = { prefix: keyOf(within), delimiter: '/' };
      for await (const page of pagesOf(ask, asked))
        names.push(...prefixesIn(page).map((name) => name.slice(keyOf(within).length, -1)));
      return names;
    },
    remove: async (name) => void (await ask('DELETE', encodeKey(keyOf(name)))),
  };
}

type Given = { readonly headers?: Readonly<Record<string, string>>; readonly body?: Uint8Array };

/** Throws for every answer but success and 404. */
async function request(
  { bucket, region, endpoint, credentials, requestMs = 30_000 }: S3StoreOptions,
  method: string,
  target: string,
  { headers = {}, body }: Given,
): Promise<Response> {
  const base = endpoint === null ? `https://${bucket}.s3.${region}.amazonaws.com` : `${endpoint}/${bucket}`;
  const digest = createHash('sha256')
    .update(body ?? '')
    .digest('hex');
  // Every retry is a row of the writer's own policy.
  const client = new AwsClient({ ...(await credentials()), region, service: 's3', retries: 0 });
  const response = await client.fetch(`${base}/${target}`, {
    method,
    headers: { ...headers, 'x-amz-content-sha256': digest },
    signal: AbortSignal.timeout(requestMs),
    ...(body === undefined ? {} : { body: new Uint8Array(body) }),
  });
  if (response.ok || response.status === 404) return response;
  const [, code = ''] = /<Code>(\w{1,64})<\/Code>/.exec(await response.text()) ?? [];
  throw new Error(`the store answered ${method} with ${response.status} ${code}`.trimEnd());
}

const encodeKey = (key: string): string => key.split('/').map(encodeURIComponent).join('/');

type Ask = (method: string, target: string) => Promise<Response>;

async function* pagesOf(ask: Ask, asked: Readonly<Record<string, string>>): AsyncGenerator<string> {
  let token: string | null = null;
  do {
    const query = new URLSearchParams({ 'list-type': '2', 'encoding-type': 'url', ...asked });
    if (token !== null) query.set('continuation-token', token);
    const response = await ask('GET', `?${query.toString()}`);
    if (response.status === 404) throw new Error('there is no such bucket');
    const page = await response.text();
    yield page;
    token = textIn(page, 'NextContinuationToken');
  } while (token !== null);
}

/* What of S3's XML is read here has no attributes, and names are URL-encoded: five tags, and no parser. */

function* objectsIn(page: string): Generator<StoredObject> {
  for (const part of page.split('<Contents>').slice(1)) {
    const [key, bytes, written] = ['Key', 'Size', 'LastModified'].map((tag) => textIn(part, tag));
    if (key == null || bytes == null || written == null) throw new Error('a listing of the store is broken');
    yield { name: decodeKey(key), bytes: Number(bytes), writtenAtMs: Date.parse(written) };
  }
}

const prefixesIn = (page: string): readonly string[] =>
  page
    .split('<CommonPrefixes>')
    .slice(1)
    .flatMap((part) => textIn(part, 'Prefix') ?? [])
    .map(decodeKey);

function textIn(xml: string, tag: string): string | null {
  const start = xml.indexOf(`<${tag}>`);
  const end = xml.indexOf(`</${tag}>`, start);
  if (start === -1 || end === -1) return null;
  return unescapeXml(xml.slice(start + tag.length + 2, end));
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const unescapeXml = (text: string): string =>
  text.replaceAll(/&(amp|lt|gt|quot|apos);/g, (whole, name: string) => entities[name] ?? whole);

/** Form encoding, with which a space is a plus. */
const decodeKey = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '));
