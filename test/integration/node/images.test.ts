import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Template } from '#src/model/environment.ts';
import { tarOf } from '#test/builders/image-archive.ts';
import { busyboxRoot } from '#test/support/busybox-root.ts';
import { type ImageRegistry, startImageRegistry } from '#test/support/image-registry.ts';
import { layerOf } from '#test/support/image-store.ts';
import { goInside, type Inside } from '#test/support/inside.ts';
import { expectNothingLeft } from '#test/support/left-behind.ts';
import { answerJson, passOn, type PlayedRegistry, playRegistry } from '#test/support/played-registry.ts';
import { pullImage } from '#test/support/pull-image.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

const mebibyte = 1024 * 1024;
/** For three images of 9 MiB on a base of 2 MiB. While a layer is unpacked it is there twice. */
const room = 32 * mebibyte;

let node: TestNode;
let registry: ImageRegistry;
let folder: string;
let base: Buffer;
let digest: string;
const config = { Env: ['GREETING=hello', 'PATH=/opt/task/bin:/bin'], WorkingDir: '/srv/app', User: 'dev' };

/** A layer as a Dockerfile's steps leave it: a user, and the task's files, which are its. */
function makeTask(at: string): Buffer {
  for (const each of ['etc', 'srv/app', 'homes/dev', 'root']) mkdirSync(join(at, each), { recursive: true });
  const files = {
    'etc/passwd': 'root:x:0:0::/root:/bin/sh\ndev:x:4000:4000::/homes/dev:/bin/sh\n',
    'etc/group': 'root:x:0:\ndev:x:4000:\n',
    'srv/app/main.py': 'print(1)\n',
    task: 'of the upper layer\n',
  };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(at, file), text);
  for (const each of ['homes/dev', 'srv/app', 'srv/app/main.py']) chownSync(join(at, each), 4000, 4000);
  return layerOf(at);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'corral-images-'));
  chmodSync(folder, 0o755);
  const root = join(folder, 'base');
  mkdirSync(root);
  await busyboxRoot(root, 'of the base\n');
  base = layerOf(root);
  const task = makeTask(join(folder, 'task'));
  registry = await startImageRegistry();
  digest = await registry.push('tasks/first:1', [base, task], config);
  node = await startNodeProcess({ env: { CORRAL_IMAGE_BYTES: String(room) } });
});
afterAll(async () => {
  await node.stop();
  await registry[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
  await expectNothingLeft(node.stateFolder);
});

const image = (reference: string) => ({ kind: 'image', reference }) as const;
const layers = () => readdirSync(join(node.stateFolder, 'images/layers'));

async function said(inside: Inside, script: string): Promise<string> {
  const { stdout, stderr } = await inside.sh(script);
  return `${stdout.head}${stderr.head}`.trimEnd();
}

const create = (reference: string, on = node, how: { readonly anonymous?: true } = {}) =>
  pullImage(on, reference, how);

async function enter(reference: string, changes: Partial<Template> = {}): Promise<Inside> {
  await create(reference);
  return goInside(node, { image: image(reference), ...changes });
}

describe('an image of a registry', () => {
  let inside: Inside;
  beforeAll(async () => (inside = await enter(`${registry.host}/tasks/first:1`)));
  afterAll(() => inside.leave());

  it('gives commands its WORKDIR and ENV, and USER their name, home and files', async () => {
    const script = 'pwd; echo $GREETING $PATH $HOME; cat /task; busybox id -un; busybox stat -c %U main.py';
    expect((await said(inside, script)).split('\n')).toEqual([
      '/srv/app',
      'hello /opt/task/bin:/bin /homes/dev',
      'of the upper layer',
      'dev',
      'dev',
    ]);
  });

  it('is a root that commands may write as its permissions say, and stays as it is', async () => {
    const script = 'echo new > main.py; echo x > /task; busybox rm -rf /homes/dev/x; cat main.py /task';
    expect(await said(inside, script)).toBe(
      "new\nof the upper layer\nsh: can't create /task: Permission denied",
    );
    const other = await enter(`${registry.host}/tasks/first:1`);
    expect(await said(other, 'cat main.py')).toBe('print(1)');
    await other.leave();
  });

  it('is the same by its digest, and nothing is fetched twice', async () => {
    const before = layers();
    const other = await enter(`${registry.host}/tasks/first@${digest}`);
    expect(await said(other, 'cat /task')).toBe('of the upper layer');
    expect(layers()).toEqual(before);
    await other.leave();
  });

  it('shares its layers with other images', async () => {
    await registry.push('tasks/second:1', [base, tarOf({ path: 'second', text: '2' })]);
    const before = layers().length;
    const other = await enter(`${registry.host}/tasks/second:1`);
    expect(layers()).toHaveLength(before + 1);
    expect(await said(other, 'pwd; cat /second; cat /task')).toBe('/workspace\n2of the base');
    await other.leave();
  });

  it('run_as: root may change all of its files', async () => {
    const other = await enter(`${registry.host}/tasks/first:1`, { runAs: 'root' });
    expect(await said(other, 'echo x > /task; busybox chown 0:0 main.py; busybox id -u; cat /task')).toBe(
      '0\nx',
    );
    await other.leave();
  });
});

it.each(['docker-archive', 'oci-archive', 'oci'])('an archive is an image: %s', async (transport) => {
  const path = join(folder, transport);
  const from = `docker://${registry.host}/tasks/first:1`;
  execFileSync('skopeo', [
    '--insecure-policy',
    'copy',
    '--quiet',
    '--src-tls-verify=false',
    from,
    `${transport}:${path}`,
  ]);
  execFileSync('chmod', ['-R', 'a+rX', path]);
  const inside = await enter(`${transport}:${path}`);
  expect(await said(inside, 'pwd; cat /task')).toBe('/srv/app\nof the upper layer');
  await inside.leave();
});

it('images are kept while node is away, and only root may enter their folder', async () => {
  const store = join(node.stateFolder, 'images');
  expect(statSync(store).mode & 0o777).toBe(0o700);
  await node.crash();
  node = await startNodeProcess({ stateFolder: node.stateFolder, env: { CORRAL_IMAGE_BYTES: String(room) } });
  const before = layers();
  await create(`${registry.host}/tasks/first:1`);
  expect(layers()).toEqual(before);
});

describe('an image that is not available', () => {
  it.each([
    ['a repository that does not exist', 'tasks/none:1', 'the registry has no such image'],
    ['a tag that does not exist', 'tasks/first:2', 'the registry has no such image'],
  ])('is named within seconds: %s', async (_what, name, reason) => {
    const started = performance.now();
    await expect(create(`${registry.host}/${name}`)).rejects.toMatchObject({
      code: 'image_unavailable',
      message: `the image ${registry.host}/${name} is not available: ${reason}`,
    });
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it('a registry that does not answer is asked again', async () => {
    await expect(create('127.0.0.1:9/tasks/first:1')).rejects.toMatchObject({ code: 'provider_unavailable' });
  });

  it('an archive that does not exist is named', async () => {
    await expect(create('docker-archive:/none.tar')).rejects.toMatchObject({ code: 'image_unavailable' });
  });
});

it('free text of a registry never makes an image unavailable', async () => {
  const words = 'manifest unknown: reading manifest 1 in x/y: manifest unknown';
  const { host, close } = await playRegistry((asked) =>
    asked.path === '/v2/'
      ? answerJson(asked, 200, {})
      : answerJson(asked, 503, { errors: [{ code: 'UNAVAILABLE', message: words }] }),
  );
  await expect(create(`${host}/x/y:1`)).rejects.toMatchObject({ code: 'provider_unavailable' });
  close();
});

describe('credentials', () => {
  const secret = Buffer.from('user:password').toString('base64');
  const challenge = { 'www-authenticate': 'Basic realm="x"' };
  let closed: PlayedRegistry;
  beforeAll(async () => {
    closed = await playRegistry((asked) =>
      asked.headers.authorization === `Basic ${secret}`
        ? passOn(registry.host, asked)
        : answerJson(asked, 401, { errors: [{ code: 'UNAUTHORIZED', message: 'log in' }] }, challenge),
    );
  });
  afterAll(() => closed.close());

  const authsOf = (host: string) => JSON.stringify({ auths: { [host]: { auth: secret } } });

  it('root’s own are not used', async () => {
    const home = join(folder, 'home');
    mkdirSync(join(home, '.docker'), { recursive: true });
    writeFileSync(join(home, '.docker/config.json'), authsOf(closed.host));
    const other = await startNodeProcess({
      env: { HOME: home, REGISTRY_AUTH_FILE: join(home, '.docker/config.json') },
    });
    await expect(create(`${closed.host}/tasks/first:1`, other)).rejects.toMatchObject({
      code: 'image_unavailable',
      message: expect.stringContaining('CORRAL_IMAGE_AUTH_FILES') as string,
    });
    await other.stop();
  });

  it('the files that the operator names are', async () => {
    const file = join(folder, 'auth.json');
    writeFileSync(file, authsOf(closed.host), { mode: 0o600 });
    const other = await startNodeProcess({ env: { CORRAL_IMAGE_AUTH_FILES: file } });
    await create(`${closed.host}/tasks/first:1`, other);
    // It is here by now, and still for those only who may use the credentials.
    await expect(create(`${closed.host}/tasks/first:1`, other, { anonymous: true })).rejects.toMatchObject({
      code: 'image_unavailable',
      message: expect.stringContaining('sandbox.image.allow') as string,
    });
    await other.stop();
  });
});

const filled = (text: string) => tarOf({ path: 'filled', text: text.repeat(9 * mebibyte) });

function readImages(): readonly string[] {
  const images = join(node.stateFolder, 'images/images');
  return readdirSync(images).map((name) => join(images, name));
}

describe('room', () => {
  it('the image that was used longest ago is evicted, and never one in use', async () => {
    for (const name of ['a', 'b', 'c']) await registry.push(`large/${name}:1`, [base, filled(name)]);
    const inUse = await enter(`${registry.host}/large/a:1`);
    await create(`${registry.host}/large/b:1`);
    await create(`${registry.host}/large/c:1`);
    expect(await said(inUse, 'busybox head -c 3 /filled; cat /task')).toBe('aaaof the base');
    const kept = execFileSync('cat', [...readImages()], { encoding: 'utf8' });
    expect(kept).toContain('large/a:1');
    expect(kept).toContain('large/c:1');
    expect(kept).not.toContain('large/b:1');
    await inUse.leave();
  });

  it('an image without room next to those in use waits, and ends none of them', async () => {
    const inUse = await enter(`${registry.host}/large/a:1`);
    const other = await enter(`${registry.host}/large/c:1`);
    await registry.push('large/e:1', [base, tarOf({ path: 'filled', text: 'e'.repeat(14 * mebibyte) })]);
    // What the second unpacks to is more than is left, and alone it would fit.
    for (const name of ['b', 'e'])
      await expect(create(`${registry.host}/large/${name}:1`)).rejects.toMatchObject({
        code: 'unschedulable',
      });
    expect(await said(other, 'busybox head -c 3 /filled')).toBe('ccc');
    await inUse.leave();
    await other.leave();
  });

  it('one that is larger than all may be is refused', async () => {
    await registry.push('large/d:1', [base, tarOf({ path: 'filled', text: 'd'.repeat(room) })]);
    await expect(create(`${registry.host}/large/d:1`)).rejects.toMatchObject({ code: 'start_failed' });
    expect(readdirSync(join(node.stateFolder, 'images/pulls'))).toEqual([]);
  });
});
