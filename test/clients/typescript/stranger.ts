import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A server at the gateway's address that answers what a test wants: a proxy, a fleet in trouble, or nothing. */
export type Said = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** It hangs up in the middle of the body. */
  readonly isCut?: boolean;
  /** What follows the body, once it is known. */
  readonly rest?: Promise<string>;
};
/** From the request's line and its number: the answer; null hangs up, `silence` never answers. */
export type Say = (line: string, number: number) => Said | null | 'silence';

export const failure = (code: string, status: number, also: object = {}): Said => ({
  status,
  headers: { 'retry-after': '0' },
  body: {
    error: {
      code,
      blame: 'infrastructure',
      message: 'said',
      rollout_id: null,
      admitted: 'no',
      retryable: true,
      tainted: false,
      evidence: {},
      ...also,
    },
  },
});

export const opened: Said = {
  status: 201,
  body: { run: 'r', attempt: 1, version: 'v', ahead: null, lease_until: '2099-01-01T00:15:00.000Z' },
};

export const result = (also: object = {}): Said => ({
  status: 200,
  body: {
    call_id: 'c',
    outcome: 'completed',
    code: null,
    exit_code: 0,
    signal: null,
    output: '',
    stdout: '',
    stderr: '',
    truncated: { stdout: false, stderr: false, total_bytes: 0 },
    timed_out: false,
    oom_killed: false,
    duration_ms: 1,
    waited_ms: 1,
    epoch: null,
    replayed: false,
    ...also,
  },
});

/** Opens and finishes whatever comes, and says these to the calls, one after the other; the last one again and again. */
export function afterOpen(...said: readonly (Said | null | 'silence')[]): Say {
  const left = [...said];
  return (line) => {
    if (!/\/(?:exec|calls)(?:\/|\?|$)/.test(line)) return opened;
    return (left.length > 1 ? left.shift() : left[0]) ?? null;
  };
}

export type Stranger = AsyncDisposable & {
  readonly url: string;
  readonly heard: readonly Heard[];
};

/** `body`: what of `text` is JSON. */
type Heard = {
  readonly line: string;
  readonly body: Record<string, unknown> | null;
  readonly text: string;
};

export async function stranger(say: Say): Promise<Stranger> {
  const heard: Heard[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const line = `${request.method} ${request.url}`;
    const isJson = request.headers['content-type'] === 'application/json';
    heard.push({ line, body: isJson ? (JSON.parse(body) as Record<string, unknown>) : null, text: body });
    const said = say(line, heard.length);
    if (said === 'silence') return;
    if (said === null) return void request.socket.resetAndDestroy();
    const content = typeof said.body === 'string' ? said.body : JSON.stringify(said.body);
    response.writeHead(said.status, said.headers);
    if (said.isCut === true) response.write(content, () => request.socket.destroy());
    else if (said.rest !== undefined) {
      response.write(content);
      response.end(await said.rest);
    } else response.end(content);
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}`, heard, [Symbol.asyncDispose]: stop };
}
