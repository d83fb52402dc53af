import { createServer, type Server, type Socket } from 'node:net';
import { ToolError } from '#services/sandboxd/helper/tools/tool-arguments.ts';
import {
  granted,
  longestReplyBytes,
  longestRequestBytes,
  refused,
  type TerminalRequest,
} from '#src/protocol/sandboxd/terminals.ts';

/** Tool calls of one rollout at a time are fewer. */
const mostConnections = 64;
/** Longer than any wait of a tool: who connects and says nothing does not keep its place. */
const silentMs = 120_000;

type Answer = (request: TerminalRequest) => Promise<string>;
/** False: the request asks for no stream. */
type Stream = (request: TerminalRequest, socket: Socket) => boolean;

/** Answers one request a connection. All that connects has the policy's own user: what it sends is bounded, and its faults are text. */
export function sessionServer(answer: Answer, stream: Stream = () => false): Server {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.setTimeout(silentMs, () => socket.destroy());
    socket.on('error', () => {}); // The client has ended: its call timed out, or something in the sandbox killed it.
    void answerOn(socket, answer, stream);
  });
  server.maxConnections = mostConnections;
  return server;
}

async function answerOn(socket: Socket, answer: Answer, stream: Stream): Promise<void> {
  try {
    const request = parseRequest(await readRequest(socket));
    if (stream(request, socket)) return;
    const text = await answer(request);
    socket.end(
      granted +
        Buffer.from(text)
          .subarray(0, longestReplyBytes - 1)
          .toString(),
    );
  } catch (error) {
    if (error instanceof ToolError) socket.end(refused + error.message);
    else socket.destroy();
  }
}

async function readRequest(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > longestRequestBytes) throw new ToolError('the request is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parseRequest(text: string): TerminalRequest {
  const value: unknown = JSON.parse(text);
  if (!isRequest(value)) throw new ToolError('this is no request of a session');
  return value;
}

function isRequest(value: unknown): value is TerminalRequest {
  if (!isObject(value)) return false;
  const { tool, env, cwd } = value;
  const hasTexts = isObject(env) && Object.values(env).every((each) => typeof each === 'string');
  return typeof tool === 'string' && typeof cwd === 'string' && hasTexts && isObject(value['arguments']);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
