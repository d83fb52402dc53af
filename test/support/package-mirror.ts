import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** How it answers from now on. `is silent`: it accepts, and says nothing. */
export type MirrorFate =
  | 'works'
  | `answers ${503 | 429 | 408 | 404 | 403 | 302}`
  | 'resets'
  | 'breaks off'
  | 'is silent';

/** Package registries on this machine's loopback, with one package of each kind: `toy` of PyPI's, of npm's and of Debian's. */
export type PackageMirror = AsyncDisposable & {
  /** `http://127.0.0.1:PORT` of the indexes. */
  readonly origin: string;
  /** A second server, with the files of the Python index. */
  readonly files: string;
  /** Paths that were asked for, and the headers of the last request. */
  readonly asked: readonly string[];
  readonly headers: IncomingMessage['headers'];
  /** The largest number of requests at a time, since it last became something. */
  readonly mostAtOnce: number;
  /** Resolves at the next request. */
  nextAsked(): Promise<void>;
  /** `path`: for requests of this path alone; all others are answered. */
  become(fate: MirrorFate, path?: string): void;
};

type Content = { readonly type: string; readonly body: Buffer };

export async function startPackageMirror(): Promise<PackageMirror> {
  const content = new Map<string, Content>();
  const asked: string[] = [];
  let headers: IncomingMessage['headers'] = {};
  let fate: MirrorFate = 'works';
  let only: string | undefined;
  let atOnce = 0;
  let mostAtOnce = 0;
  let next = Promise.withResolvers<void>();
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    response.once('close', () => {
      atOnce -= 1;
    });
    next.resolve();
    next = Promise.withResolvers();
    const { pathname } = new URL(request.url ?? '/', 'http://mirror');
    asked.push(request.url ?? '');
    headers = request.headers;
    const failing = only === undefined || only === pathname ? fate : 'works';
    if (failing === 'is silent') return;
    if (failing === 'resets') return void request.socket.resetAndDestroy();
    if (failing === 'breaks off') {
      response.writeHead(200, { 'content-length': 100 });
      return void response.write('a part', () => request.socket.resetAndDestroy());
    }
    const status = Number(failing.replace('answers ', ''));
    if (status > 0) return void response.writeHead(status).end('mirror is down');
    const found = content.get(pathname);
    if (found === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': found.type, 'content-length': found.body.length });
    response.end(request.method === 'HEAD' ? undefined : found.body);
  };
  const servers = [createServer(answer), createServer(answer)];
  const [origin = '', files = ''] = await Promise.all(servers.map(listenOnLoopback));
  for (const [path, each] of await packages(origin, files)) content.set(path, each);
  return {
    origin,
    files,
    asked,
    get headers() {
      return headers;
    },
    get mostAtOnce() {
      return mostAtOnce;
    },
    nextAsked: () => next.promise,
    become: (changed, path) => {
      fate = changed;
      only = path;
      mostAtOnce = atOnce;
    },
    [Symbol.asyncDispose]: async () => {
      for (const server of servers) {
        const closed = once(server, 'close');
        server.close();
        server.closeAllConnections();
        await closed;
      }
    },
  };
}

async function listenOnLoopback(server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function packages(origin: string, files: string): Promise<ReadonlyMap<string, Content>> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-packages-'));
  try {
    return new Map([
      ...(await pythonPackage(folder, files)),
      ...(await npmPackage(folder, origin)),
      ...(await debianPackage(folder)),
      ['/secret', text('text/plain', 'not of a registry')],
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const text = (type: string, body: string): Content => ({ type, body: Buffer.from(body) });

const wheel = 'toy-1.0-py3-none-any.whl';

const makeWheel = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('toy.py', 'word = "works"\\n')
    wheel.writestr('toy-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: toy\\nVersion: 1.0\\n')
    wheel.writestr('toy-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('toy-1.0.dist-info/RECORD', 'toy.py,,\\ntoy-1.0.dist-info/METADATA,,\\ntoy-1.0.dist-info/WHEEL,,\\ntoy-1.0.dist-info/RECORD,,\\n')
`;

/** As PyPI's: the index names another server. */
async function pythonPackage(
  folder: string,
  files: string,
): Promise<readonly (readonly [string, Content])[]> {
  const file = join(folder, wheel);
  execFileSync('/usr/bin/python3', ['-c', makeWheel, file]);
  const body = await readFile(file);
  const sum = createHash('sha256').update(body).digest('hex');
  const index = `<!DOCTYPE html><html><body><a href="${files}/packages/${wheel}#sha256=${sum}">${wheel}</a></body></html>`;
  return [
    ['/simple/', text('text/html', '<!DOCTYPE html><html><body><a href="toy/">toy</a></body></html>')],
    ['/simple/toy/', text('text/html', index)],
    [`/packages/${wheel}`, { type: 'application/octet-stream', body }],
  ];
}

async function npmPackage(folder: string, origin: string): Promise<readonly (readonly [string, Content])[]> {
  await mkdir(join(folder, 'npm/package'), { recursive: true });
  await writeFile(
    join(folder, 'npm/package/package.json'),
    JSON.stringify({ name: 'toy', version: '1.0.0' }),
  );
  await writeFile(join(folder, 'npm/package/index.js'), 'module.exports = "works";\n');
  const file = join(folder, 'toy.tgz');
  execFileSync('tar', ['-czf', file, '-C', join(folder, 'npm'), 'package']);
  const body = await readFile(file);
  const dist = {
    tarball: `${origin}/toy/-/toy-1.0.0.tgz`,
    integrity: `sha512-${createHash('sha512').update(body).digest('base64')}`,
  };
  const versions = { '1.0.0': { name: 'toy', version: '1.0.0', dist } };
  const metadata = { name: 'toy', 'dist-tags': { latest: '1.0.0' }, versions };
  return [
    ['/toy', text('application/json', JSON.stringify(metadata))],
    ['/toy/-/toy-1.0.0.tgz', { type: 'application/octet-stream', body }],
  ];
}

/** A flat repository. */
async function debianPackage(folder: string): Promise<readonly (readonly [string, Content])[]> {
  const control =
    'Package: toy\nVersion: 1.0\nArchitecture: all\nMaintainer: test <t@example.com>\nDescription: toy\n';
  await mkdir(join(folder, 'deb/DEBIAN'), { recursive: true });
  await writeFile(join(folder, 'deb/DEBIAN/control'), control);
  const file = join(folder, 'toy_1.0_all.deb');
  execFileSync('dpkg-deb', ['--build', join(folder, 'deb'), file]);
  const body = await readFile(file);
  const sum = createHash('sha256').update(body).digest('hex');
  const about = `Filename: ./toy_1.0_all.deb\nSize: ${body.length}\nSHA256: ${sum}\n`;
  return [
    ['/debian/Packages', text('text/plain', control + about)],
    ['/debian/toy_1.0_all.deb', { type: 'application/octet-stream', body }],
  ];
}
