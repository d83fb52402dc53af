import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tarOf } from '#test/builders/image-archive.ts';
import { type ImageRegistry, startImageRegistry } from '#test/support/image-registry.ts';
import { goInside } from '#test/support/inside.ts';
import { expectNothingLeft } from '#test/support/left-behind.ts';
import {
  type Asked,
  answerJson,
  passOn,
  type PlayedRegistry,
  playRegistry,
} from '#test/support/played-registry.ts';
import { pullImage } from '#test/support/pull-image.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

let node: TestNode;
let registry: ImageRegistry;
let folder: string;
const base = tarOf({ path: 'base', text: 'b'.repeat(10_000) });
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'corral-registries-'));
  chmodSync(folder, 0o755);
  registry = await startImageRegistry();
  for (const name of ['one', 'two'])
    await registry.push(`tasks/${name}:1`, [base, tarOf({ path: name, text: name })]);
  node = await startNodeProcess();
});
afterAll(async () => {
  await node.stop();
  await registry[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
  await expectNothingLeft(node.stateFolder);
});

const create = (reference: string, on = node, how: { readonly anonymous?: true } = {}) =>
  pullImage(on, reference, how);

/** A registry between node and the real one, which notes what is asked for. */
async function noting(answer = (asked: Asked) => passOn(registry.host, asked)) {
  const paths: string[] = [];
  const played = await playRegistry((asked) => {
    paths.push(asked.path);
    return answer(asked);
  });
  const blobs = () => paths.filter((path) => path.includes('/blobs/'));
  return { ...played, blobs };
}

describe('pulls at once', () => {
  it('of one image, by its tag and by its digest, fetch each blob once', async () => {
    const { host, blobs, close } = await noting();
    const digest = await registry.push('tasks/both:1', [base, tarOf({ path: 'both', text: 'both' })]);
    const references = [
      `${host}/tasks/both:1`,
      `${host}/tasks/both@${digest}`,
      `${host}/tasks/both:1@${digest}`,
    ];
    await Promise.all([...references, ...references].map((reference) => create(reference)));
    const layers = blobs().filter((path, index, all) => all.indexOf(path) === index);
    // The configuration is read by each, for it says which image it is.
    expect(layers).toHaveLength(3);
    expect(blobs().length).toBeLessThanOrEqual(2 + references.length + 1);
    close();
  });

  it('of two images fetch and unpack what they share once', async () => {
    const { host, blobs, close } = await noting();
    const before = readdirSync(join(node.stateFolder, 'images/layers')).length;
    await Promise.all([create(`${host}/tasks/one:1`), create(`${host}/tasks/two:1`)]);
    expect(readdirSync(join(node.stateFolder, 'images/layers'))).toHaveLength(before + 3);
    const counts = Map.groupBy(blobs(), (path) => path.split('/').at(-1) ?? '');
    // Three layers once, two configurations twice: once to look at it, once with its layers.
    expect([...counts.values()].map(({ length }) => length).toSorted((one, other) => one - other)).toEqual([
      1, 1, 1, 2, 2,
    ]);
    close();
  });
});

describe('a registry that sends node on', () => {
  it('to another address for its blobs is followed, and that address gets no credentials', async () => {
    const seen: (string | undefined)[] = [];
    const store = await playRegistry((asked) => {
      seen.push(asked.headers.authorization);
      return passOn(registry.host, asked);
    });
    const auth = Buffer.from('user:password').toString('base64');
    const { host, close } = await playRegistry((asked) => {
      if (asked.headers.authorization === undefined)
        return answerJson(asked, 401, {}, { 'www-authenticate': 'Basic realm="x"' });
      if (!asked.path.includes('/blobs/')) return passOn(registry.host, asked);
      asked.response.writeHead(307, { location: `http://${store.host}${asked.path}` }).end();
    });
    const other = await nodeWith(host, auth);
    await create(`${host}/tasks/one:1`, other);
    expect(seen.length).toBeGreaterThan(1);
    expect(new Set(seen)).toEqual(new Set([undefined]));
    await other.stop();
    close();
    store.close();
  });

  it('to an address of this network tells a row nothing of what that says', async () => {
    const inside = await playRegistry(({ response }) => void response.writeHead(404).end('<a>secret</a>'));
    const { host, close } = await playRegistry((asked) =>
      asked.path === '/v2/'
        ? answerJson(asked, 200, {})
        : void asked.response.writeHead(302, { location: `http://${inside.host}/meta-data` }).end(),
    );
    const message = expect.not.stringContaining('secret') as string;
    await expect(create(`${host}/x/y:1`, node, { anonymous: true })).rejects.toMatchObject({
      code: 'provider_unavailable',
      message,
    });
    close();
    inside.close();
  });
});

async function nodeWith(host: string, auth: string): Promise<TestNode> {
  const file = join(folder, `${host.replaceAll(/\W/g, '-')}.json`);
  writeFileSync(
    file,
    JSON.stringify({ auths: { [host]: { auth }, 'other.example.com': { auth: 'b3RoZXI6eA==' } } }),
  );
  return startNodeProcess({ env: { CORRAL_IMAGE_AUTH_FILES: file } });
}

describe('a registry with a server of tokens', () => {
  const auth = Buffer.from('user:password').toString('base64');
  const token = 'token-of-the-server';
  const asked: (string | undefined)[] = [];
  let tokens: PlayedRegistry;
  let closed: PlayedRegistry;
  beforeAll(async () => {
    tokens = await playRegistry((request) => {
      asked.push(request.headers.authorization);
      const isKnown = request.headers.authorization === `Basic ${auth}`;
      return isKnown
        ? answerJson(request, 200, { token, expires_in: 300 })
        : answerJson(request, 401, { errors: [{ code: 'UNAUTHORIZED', message: 'who are you' }] });
    });
    const realm = `Bearer realm="http://${tokens.host}/token",service="registry"`;
    closed = await playRegistry((request) =>
      request.headers.authorization === `Bearer ${token}`
        ? passOn(registry.host, request)
        : answerJson(
            request,
            401,
            { errors: [{ code: 'UNAUTHORIZED', message: 'log in' }] },
            { 'www-authenticate': realm },
          ),
    );
  });
  afterAll(() => [tokens, closed].forEach((each) => each.close()));

  it('gives it for the registry’s own credentials, and sees no others', async () => {
    const other = await nodeWith(closed.host, auth);
    await create(`${closed.host}/tasks/two:1`, other);
    expect(new Set(asked)).toEqual(new Set([`Basic ${auth}`]));
    await other.stop();
  });

  it('that refuses them makes the image unavailable', async () => {
    const other = await nodeWith(closed.host, Buffer.from('user:wrong').toString('base64'));
    await expect(create(`${closed.host}/tasks/two:1`, other)).rejects.toMatchObject({
      code: 'image_unavailable',
      message: expect.stringContaining('other credentials') as string,
    });
    await other.stop();
  });
});

const tlsFile = (each: string) => join(folder, 'tls', each);

it('a machine without skopeo names it, and starts all other sandboxes', async () => {
  const programs = join(folder, 'programs');
  mkdirSync(programs);
  for (const from of ['/usr/sbin', '/usr/bin'])
    execFileSync('sh', ['-c', `ln -sf ${from}/* ${programs}; rm -f ${programs}/skopeo`]);
  const other = await startNodeProcess({ env: { PATH: programs } });
  await expect(create(`${registry.host}/tasks/one:1`, other)).rejects.toMatchObject({
    code: 'start_failed',
    message: expect.stringContaining('skopeo is not installed (apt-get install skopeo)') as string,
  });
  expect((await other.provider.limitations()).join(' ')).toContain('skopeo is not installed');
  const inside = await goInside(other);
  expect((await inside.sh('echo works')).stdout.head).toBe('works\n');
  await inside.leave();
  await other.stop();
});

describe('a registry with a certificate of an authority of one’s own', () => {
  const name = hostname();
  let secure: ImageRegistry;
  beforeAll(async () => {
    mkdirSync(join(folder, 'tls'));
    makeCertificate(name, tlsFile('key.pem'), tlsFile('certificate.pem'));
    secure = await startImageRegistry({
      name,
      certificate: tlsFile('certificate.pem'),
      key: tlsFile('key.pem'),
    });
    await secure.push('tasks/secure:1', [base]);
  });
  afterAll(() => secure[Symbol.asyncDispose]());

  it('is not trusted without it, which is no mistake of the image’s author', async () => {
    await expect(create(`${secure.host}/tasks/secure:1`)).rejects.toMatchObject({
      code: 'provider_unavailable',
      message: expect.stringContaining('x509') as string,
    });
  });

  it('is trusted with the file that SSL_CERT_FILE names', async () => {
    const other = await startNodeProcess({ env: { SSL_CERT_FILE: tlsFile('certificate.pem') } });
    await create(`${secure.host}/tasks/secure:1`, other);
    await other.stop();
  });
});

function makeCertificate(name: string, key: string, certificate: string): void {
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', ...kind, ...subject, ...files], { stdio: 'ignore' });
}
