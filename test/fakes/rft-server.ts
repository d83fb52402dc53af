import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as the trainer sent it. */
export type SeenRequest = {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: { readonly [key: string]: unknown };
};

/** What to answer: a status with a JSON body, or `drop`, which cuts the connection without a word. */
export type Scripted = { readonly status: number; readonly body: unknown } | 'drop';

export type FakeRftServer = {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  readonly close: () => Promise<void>;
};

export const functionOutput = (body: SeenRequest['body'], output: string): Scripted => ({
  status: 200,
  body: { type: 'function_call_output', call_id: body['call_id'], id: body['id'], output },
});

export const rftFailure = (code: string, evidence: Readonly<Record<string, string>> = {}): Scripted => ({
  status: 503,
  body: { error: { code, message: `it was ${code}`, evidence } },
});

/** A server on loopback that records what it is asked and answers what `script` says. */
export async function startFakeRftServer(
  script: (request: SeenRequest, earlier: readonly SeenRequest[]) => Scripted,
): Promise<FakeRftServer> {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    void readJson(request).then((body) => {
      const asked = { path: request.url ?? '', headers: request.headers, body };
      const scripted = script(asked, [...seen]);
      seen.push(asked);
      if (scripted === 'drop') request.socket.destroy();
      else response.writeHead(scripted.status).end(JSON.stringify(scripted.body));
    });
  });
  await new Promise<void>((listening) => {
    server.listen(0, '127.0.0.1', listening);
  });
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}`, seen, close };
}

async function readJson(request: IncomingMessage): Promise<SeenRequest['body']> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as SeenRequest['body']);
}
