import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
};

/** A static host of the site below a path, as any of them: gzip, an index for a folder, 404. */
export async function serveSite(output: string, base: string) {
  const server = createServer((request, response) => {
    void answer(output, new URL(request.url ?? '/', 'http://site').pathname, base, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async stop(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function answer(output: string, pathname: string, base: string, response: ServerResponse) {
  const file = join(output, decodeURIComponent(pathname.slice(base.length)));
  if (!pathname.startsWith(base) || !existsSync(file)) return void response.writeHead(404).end();
  const isFolder = statSync(file).isDirectory();
  if (isFolder && !pathname.endsWith('/'))
    return void response.writeHead(301, { location: `${pathname}/` }).end();
  const path = isFolder ? join(file, 'index.html') : file;
  const headers = {
    'content-type': types[extname(path)] ?? 'application/octet-stream',
    'content-encoding': 'gzip',
  };
  response.writeHead(200, headers).end(gzipSync(await readFile(path)));
}
