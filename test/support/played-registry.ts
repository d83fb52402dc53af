import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { request } from 'undici';

/** One request to a registry that a test plays. */
export type Asked = {
  readonly response: ServerResponse;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
};

/** Host and port, on the loopback. */
export type PlayedRegistry = { readonly host: string; readonly close: () => void };

/** A registry that answers so. */
export async function playRegistry(answer: (asked: Asked) => void | Promise<void>): Promise<PlayedRegistry> {
  const server = createServer(
    ({ url, headers }, response) => void answer({ response, path: url ?? '', headers }),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Answers as the registry of this host does. */
export async function passOn(host: string, { response, path, headers: asked }: Asked): Promise<void> {
  const { statusCode, headers, body } = await request(`http://${host}${path}`, {
    headers: { accept: asked.accept ?? '*/*' },
  });
  const type = String(headers['content-type'] ?? 'application/octet-stream');
  response.writeHead(statusCode, { 'content-type': type }).end(Buffer.from(await body.arrayBuffer()));
}

export const answerJson = (
  { response }: Pick<Asked, 'response'>,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void =>
  void response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));
