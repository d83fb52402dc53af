import { expect } from 'vitest';
import { dataIn, envelope, envelopesIn, lastIn } from './connect.ts';

/** What a client of E2B keeps of a sandbox that it opened. */
export type OpenSandbox = { readonly sandboxID: string; readonly envdAccessToken: string };
type Init = {
  readonly method?: string;
  readonly body?: string | Buffer<ArrayBuffer>;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
};

/** E2B's wire by hand. `gatewayUrl` is asked each time: a gateway may have started again elsewhere. */
export function e2bWire(gatewayUrl: () => string, apiKey: () => string) {
  const ask = (path: string, { headers, ...init }: Init = {}) =>
    fetch(`${gatewayUrl()}/e2b${path}`, { ...init, headers: { connection: 'close', ...headers } });
  const key = () => ({ 'x-api-key': apiKey(), 'content-type': 'application/json' });

  async function open(templateID = 'own', more: object = {}): Promise<OpenSandbox> {
    const answer = await ask('/v2/sandboxes', {
      method: 'POST',
      body: JSON.stringify({ templateID, ...more }),
      headers: key(),
    });
    expect(answer.status).toBe(201);
    return (await answer.json()) as OpenSandbox;
  }

  const start = (
    sandbox: OpenSandbox,
    command: string,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ) =>
    ask('/process.Process/Start', {
      method: 'POST',
      body: Buffer.from(envelope({ process: { cmd: '/bin/bash', args: ['-l', '-c', command] } })),
      headers: { 'content-type': 'application/connect+json', ...shown(sandbox), ...headers },
      ...(signal && { signal }),
    });

  async function run(sandbox: OpenSandbox, command: string, headers: Record<string, string> = {}) {
    const answer = await start(sandbox, command, headers);
    if (answer.status !== 200) return { status: answer.status, body: await answer.json() };
    const told = envelopesIn(Buffer.from(await answer.arrayBuffer()));
    return { status: 200, ...dataIn(told), last: lastIn(told) };
  }

  const kill = async ({ sandboxID }: OpenSandbox): Promise<number> =>
    (await ask(`/sandboxes/${sandboxID}`, { method: 'DELETE', headers: key() })).status;

  const rpc = (sandbox: OpenSandbox, method: string, body: object) =>
    ask(method, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...shown(sandbox) },
    });

  return { ask, key, open, start, run, kill, rpc };
}

export const shown = ({ sandboxID, envdAccessToken }: OpenSandbox) => ({
  'e2b-sandbox-id': sandboxID,
  'x-access-token': envdAccessToken,
});

/** As E2B says that a sandbox is gone permanently. */
export const gone = { code: 502, message: expect.stringMatching(/^The sandbox was not found/) };
