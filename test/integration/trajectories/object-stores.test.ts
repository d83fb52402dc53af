import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AwsV4Signer } from 'aws4fetch';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openObjectStore } from '#src/adapters/object-store/open-store.ts';
import type { ObjectStore } from '#src/ports/object-store.ts';
import { type S3OfTest, startS3 } from '#test/support/moto.ts';

/* What a folder and S3 promise alike. */

let folder: string;
let s3: S3OfTest;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-objects-'));
  s3 = await startS3('shelf');
});
afterAll(async () => {
  await s3.stop();
  await rm(folder, { recursive: true });
});

const bytesOf = (text: string) => Buffer.from(text);
const textOf = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString('utf8'));
const namesIn = async (store: ObjectStore, prefix: string) =>
  (await Array.fromAsync(store.list(prefix))).map(({ name }) => name);

describe.each<[string, (part: string) => ObjectStore]>([
  ['a folder', (part) => openObjectStore(join(folder, part), {})],
  ['S3', (part) => openObjectStore(`s3://shelf/${part}`, s3.variables)],
])('%s', (_, at) => {
  test('returns what was put, whole and in part, and null for what is not there', async () => {
    const store = at('get');
    expect(await store.get('a/b/c')).toBeNull();
    await store.put('a/b/c', bytesOf('0123456789'));
    await store.put('a/b/c', bytesOf('abcdefghij'));
    expect(textOf(await store.get('a/b/c'))).toBe('abcdefghij');
    expect(textOf(await store.get('a/b/c', { fromByte: 2, bytes: 3 }))).toBe('cde');
    expect(await store.get('a/b')).toBeNull();
  });

  test('lists by prefix, with sizes and times, and the folders below one', async () => {
    const store = at('list');
    const before = Date.now() - 2_000;
    for (const name of ['x/1', 'x/2', 'xy/3', 'z/4/5']) await store.put(name, bytesOf(name));
    expect(await namesIn(store, '')).toEqual(['x/1', 'x/2', 'xy/3', 'z/4/5']);
    expect(await namesIn(store, 'x/')).toEqual(['x/1', 'x/2']);
    expect(await namesIn(store, 'none/')).toEqual([]);
    expect(await store.folders('')).toEqual(['x', 'xy', 'z']);
    expect(await store.folders('z/')).toEqual(['4']);
    const [first] = await Array.fromAsync(store.list('x/'));
    expect(first).toMatchObject({ name: 'x/1', bytes: 3 });
    expect(first?.writtenAtMs).toBeGreaterThan(before);
  });

  test('names may be anything that is percent-encoded', async () => {
    const store = at('names');
    const names = ['a%2Fb%20c/%3F%26%23/d+e', "%C3%A9%~abc/(x)!*'/y", 'p&q/r<s>/t"u'].toSorted();
    for (const name of names) await store.put(name, bytesOf(name));
    expect((await namesIn(store, '')).toSorted()).toEqual(names);
    for (const name of names) expect(textOf(await store.get(name))).toBe(name);
  });

  test('forgets what was removed, and removing it again is no error', async () => {
    const store = at('remove');
    await store.put('a/b', bytesOf('x'));
    await store.remove('a/b');
    await store.remove('a/b');
    expect([await store.get('a/b'), await namesIn(store, '')]).toEqual([null, []]);
  });
});

test('a listing of S3 of more than one page has every object once', async () => {
  const store = openObjectStore('s3://shelf/pages', s3.variables);
  const names = Array.from({ length: 1_050 }, (_, n) => `p/${String(n).padStart(5, '0')}`);
  for (let n = 0; n < names.length; n += 50)
    await Promise.all(names.slice(n, n + 50).map((name) => store.put(name, bytesOf('x'))));
  expect(await namesIn(store, 'p/')).toEqual(names);
});

test('a folder’s files are for their owner alone, and no name leads out of it', async () => {
  const store = openObjectStore(join(folder, 'modes'), {});
  await store.put('a/b', bytesOf('x'));
  expect((await stat(join(folder, 'modes/a/b'))).mode & 0o777).toBe(0o600);
  expect(await readdir(join(folder, 'modes/a'))).toEqual(['b']);
  await expect(store.put('../b', bytesOf('x'))).rejects.toThrow('not the name of an object');
  await expect(store.get('a/../../b')).rejects.toThrow('not the name of an object');
});

test('a bucket that is not there, and an answer of 5xx, are errors that name neither key nor secret', async () => {
  const none = openObjectStore('s3://missing-bucket/x', s3.variables);
  await expect(none.put('a', bytesOf('x'))).rejects.toThrow('missing-bucket');
  await expect(namesIn(none, '')).rejects.toThrow('no such bucket');
  const server = createServer((_request, response) =>
    response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>'),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const busy = openObjectStore('s3://shelf/x', { ...s3.variables, AWS_ENDPOINT_URL_S3: endpoint });
  await expect(busy.put('a', bytesOf('x'))).rejects.toThrow(/^the store answered PUT with 503 SlowDown$/);
  server.closeAllConnections();
  server.close();
});

test('credentials come from a file and are read again, and a place without any is refused', async () => {
  const file = join(folder, 'credentials');
  const { AWS_ACCESS_KEY_ID: _id, AWS_SECRET_ACCESS_KEY: _secret, ...rest } = s3.variables;
  expect(() => openObjectStore('s3://shelf/x', rest)).toThrow('AWS_SHARED_CREDENTIALS_FILE');
  expect(() => openObjectStore('s3://UP/x', s3.variables)).toThrow('not a bucket');
  const store = openObjectStore('s3://shelf/file', { ...rest, AWS_SHARED_CREDENTIALS_FILE: file });
  await expect(store.put('a', bytesOf('x'))).rejects.toThrow('ENOENT');
  await writeFile(
    file,
    '[other]\naws_access_key_id = no\n[default]\naws_access_key_id = id\naws_secret_access_key = a=b\n',
  );
  await store.put('a', bytesOf('x'));
  expect(textOf(await store.get('a'))).toBe('x');
});

test('the library signs as Amazon’s published example of a GET of S3', async () => {
  const signer = new AwsV4Signer({
    url: 'https://examplebucket.s3.amazonaws.com/test.txt',
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    service: 's3',
    region: 'us-east-1',
    datetime: '20130524T000000Z',
    allHeaders: true,
    headers: {
      range: 'bytes=0-9',
      'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    },
  });
  expect((await signer.sign()).headers.get('authorization')).toContain(
    'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  );
});
