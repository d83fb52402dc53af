import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a client of `chat/completions` sends, as far as a script looks at it. */
export type ChatRequest = {
  readonly model: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | null;
    readonly tool_call_id?: string;
  }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly max_tokens?: number;
};

/** What the model says next, or how its endpoint fails. */
export type ScriptedReply =
  | { readonly text: string; readonly finish?: string }
  | { readonly calls: readonly { readonly name: string; readonly arguments: string }[] }
  | { readonly status: number; readonly body?: string; readonly retryAfter?: string }
  | 'never answers'
  | 'breaks off';

export type ScriptedEndpoint = {
  readonly url: string;
  readonly requests: readonly { readonly body: ChatRequest; readonly authorization: string | undefined }[];
  close(): Promise<void>;
};

/** A model whose every reply is written here: `reply` sees the conversation, and how often this very one was sent. */
export async function scriptedEndpoint(
  reply: (request: ChatRequest, tries: number) => ScriptedReply,
): Promise<ScriptedEndpoint> {
  const requests: { body: ChatRequest; authorization: string | undefined }[] = [];
  const seen = new Map<string, number>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const text = (await request.toArray()).join('');
    const body = JSON.parse(text) as ChatRequest;
    requests.push({ body, authorization: request.headers.authorization });
    const tries = (seen.get(text) ?? 0) + 1;
    seen.set(text, tries);
    if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end('no such path');
    say(response, reply(body, tries), requests.length);
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function say(response: ServerResponse, reply: ScriptedReply, number: number): void {
  if (reply === 'never answers') return;
  if (reply === 'breaks off') return void response.destroy();
  if ('status' in reply) {
    const headers = reply.retryAfter === undefined ? {} : { 'retry-after': reply.retryAfter };
    return void response.writeHead(reply.status, headers).end(reply.body ?? 'it failed');
  }
  const message =
    'text' in reply
      ? { role: 'assistant', content: reply.text }
      : {
          role: 'assistant',
          content: null,
          tool_calls: reply.calls.map((call, index) => ({
            id: `fc_${number}_${index}`,
            type: 'function',
            function: call,
          })),
        };
  const finish = 'text' in reply ? (reply.finish ?? 'stop') : 'tool_calls';
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: finish }], usage }));
}
