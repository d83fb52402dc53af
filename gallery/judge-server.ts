import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

export type Answer = { readonly status: number; readonly body: object };

/** Serves judges on a port of this machine: `answer` gets a request's path and its body, null if that is no JSON. */
export async function serveOn(
  port: number,
  answer: (path: string, sent: unknown) => Answer,
): Promise<AsyncDisposable> {
  const server = createServer((request, response) => {
    void text(request).then((sent) => {
      const { status, body } = answer(request.url ?? '', parsed(sent));
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
