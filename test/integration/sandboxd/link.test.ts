import { createServer, type RequestListener, type Server } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSandboxdHttpLink, longestAnswerBytes } from '#src/adapters/sandboxd-http/link.ts';
import { bootId, callId, sandboxId } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import { maxOutputBytes, remainingHeader } from '#src/protocol/sandboxd/wire.ts';
import { aBind, aShellCall, startSandboxd } from '#test/support/sandboxd.ts';

const folder = mkdtempSync(join(tmpdir(), 'corral-link-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const socketPath = join(folder, 's.sock');
const target = { sandbox: sandboxId('s'), boot: bootId('b'), address: sandboxAddress(`unix:${socketPath}`) };
const speaker = { 'x-corral-sandbox': 's', 'x-corral-boot': 'b' };
const someCall = callId('c');
const place = { path: 'x', user: 'policy', form: 'file' } as const;

async function troubleOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => 'no trouble',
    (error: unknown) => (error instanceof LinkError ? error.trouble : error),
  );
}
const kind = (name: string) => expect.objectContaining({ kind: name });

describe('the line to sandboxd', () => {
  let link: ReturnType<typeof createSandboxdHttpLink>;
  let server: Server | null = null;
  const sockets = new Set<Socket>();
  const never = new AbortController().signal;

  beforeEach(() => void (link = createSandboxdHttpLink({ tokenOf: () => 'token', connectTimeoutMs: 200 })));
  afterEach(async () => {
    await link.close();
    for (const socket of sockets) socket.destroy();
    await new Promise<unknown>((resolve) => (server === null ? resolve(null) : server.close(resolve)));
    server = null;
    rmSync(socketPath, { force: true });
  });

  async function serve(listener: RequestListener): Promise<void> {
    server = createServer(listener);
    server.on('connection', (socket) => sockets.add(socket));
    await new Promise<void>((resolve) => server?.listen(socketPath, resolve));
  }

  it('has sent nothing where nobody listens', async () => {
    expect(await troubleOf(link.cancel(target, someCall, never))).toEqual(kind('not_sent'));
    const closedPort = { ...target, address: sandboxAddress('http://127.0.0.1:1') };
    expect(await troubleOf(link.cancel(closedPort, someCall, never))).toEqual(kind('not_sent'));
  });

  it('has sent nothing where a connection is not made in time', async () => {
    // Reserved for documentation: packets to it are answered by nobody.
    const nowhere = { ...target, address: sandboxAddress('http://192.0.2.1:9') };
    expect(await troubleOf(link.cancel(nowhere, someCall, never))).toEqual(kind('not_sent'));
  });

  it('has sent nothing when the caller gave up before', async () => {
    await serve((_request, response) => response.writeHead(204, speaker).end());
    const trouble = await troubleOf(link.cancel(target, someCall, AbortSignal.abort()));
    expect(trouble).toEqual(kind('not_sent'));
  });

  it('may have sent it when the caller gives up waiting for the answer', async () => {
    const asker = new AbortController();
    await serve(() => asker.abort());
    expect(await troubleOf(link.cancel(target, someCall, asker.signal))).toEqual(kind('maybe_sent'));
  });

  it('asks once more over a new connection when the one it had died', async () => {
    let requests = 0;
    await serve((request, response) => {
      requests += 1;
      if (requests === 2) request.socket.destroy();
      else response.writeHead(204, speaker).end();
    });
    await link.cancel(target, someCall, never);
    await link.cancel(target, someCall, never);
    expect(requests).toBe(3);
  });

  it('may have sent it when the second connection breaks too', async () => {
    let requests = 0;
    await serve((request) => {
      requests += 1;
      request.socket.destroy();
    });
    expect(await troubleOf(link.cancel(target, someCall, never))).toEqual(kind('maybe_sent'));
    expect(requests).toBe(2);
  });

  it('says with each request for how long its answer is waited for, and in a second try for how much longer', async () => {
    const said: number[] = [];
    await serve((request, response) => {
      said.push(Number(request.headers[remainingHeader]));
      if (said.length === 2) request.socket.destroy();
      else response.writeHead(204, speaker).end();
    });
    await link.cancel(target, someCall, never);
    await Array.fromAsync(await link.getFile(target, { ...place, mostBytes: 100 }, never, 5_000));
    await link.putFile(target, place, new Blob(['x']).stream(), never, 4_000).catch(() => undefined);
    const [cancel = 0, first = 0, second = 0, put = 0] = said;
    expect(cancel).toBeGreaterThan(20_000);
    expect(cancel).toBeLessThanOrEqual(30_000);
    expect(first).toBeLessThanOrEqual(5_000);
    expect(second).toBeLessThanOrEqual(first);
    expect(put).toBeLessThanOrEqual(4_000);
    expect(Math.min(...said)).toBeGreaterThan(0);
  });

  it('never sends twice what would be done twice', async () => {
    let requests = 0;
    await serve((request) => {
      requests += 1;
      request.socket.destroy();
    });
    expect(await troubleOf(link.prepare(target, [['true']], 100, never))).toEqual(kind('maybe_sent'));
    expect(requests).toBe(1);
  });

  it('believes nobody who is not the sandbox and the life that it asked', async () => {
    let headers: Record<string, string> = {};
    await serve((_request, response) => response.writeHead(204, headers).end());
    expect(await troubleOf(link.cancel(target, someCall, never))).toEqual({ kind: 'other_sandbox' });
    headers = { ...speaker, 'x-corral-sandbox': 'another' };
    expect(await troubleOf(link.cancel(target, someCall, never))).toEqual({ kind: 'other_sandbox' });
    headers = { ...speaker, 'x-corral-boot': 'later' };
    expect(await troubleOf(link.cancel(target, someCall, never))).toEqual({
      kind: 'other_boot',
      boot: 'later',
    });
  });

  it.each(['', '{', '[]', 'null', '{"state":"asleep"}', '{"ending":{},"stdout":null}'])(
    'takes %j for no answer to a call',
    async (body) => {
      await serve((_request, response) => response.writeHead(200, speaker).end(body));
      const trouble = await troubleOf(link.attach(target, someCall, 0, never));
      expect(trouble).toEqual(kind('maybe_sent'));
    },
  );

  it('ends a stream at a line that sandboxd never writes, however long it is', async () => {
    const line = { stream: 'stdout', at: 0, base64: 'YWJj' };
    const odd = [
      { ...line, at: 3, lost: 9_007_199_254_740_991 },
      { ...line, base64: 'A' },
      'x'.repeat(200_000),
    ];
    await serve((request, response) => {
      const said = odd[Number(/stderr=(\d)/.exec(request.url ?? '')?.[1])];
      response.writeHead(200, speaker);
      response.write(`${JSON.stringify(line)}\n${JSON.stringify(said)}`);
      // A command that speaks in its place need not hang up.
      if (typeof said === 'object') response.write('\n');
    });
    for (const stderr of odd.keys()) {
      const lines = await link.stream(target, someCall, { stdout: 0, stderr }, never);
      expect(await Array.fromAsync(lines)).toEqual([line, { end: true }]);
    }
  });

  it('reads kept output up to what sandboxd keeps', async () => {
    await serve((_request, response) => {
      response.writeHead(200, speaker);
      const send = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024)));
      };
      response.on('drain', send);
      send();
    });
    let bytes = 0;
    for await (const chunk of await link.output(target, someCall, 'stdout', never)) bytes += chunk.length;
    expect(bytes).toBe(maxOutputBytes);
  });

  it.each([200, 422])(
    'reads of an answer without end, status %i, no more than sandboxd ever sends',
    async (status) => {
      let sentBytes = 0;
      const piece = Buffer.alloc(1024 * 1024, ' ');
      await serve((_request, response) => {
        response.writeHead(status, speaker);
        const send = (): void => {
          do sentBytes += piece.length;
          while (!response.destroyed && response.write(piece));
        };
        response.on('drain', send);
        send();
      });
      expect(await troubleOf(link.identity(target, never))).toEqual(kind('maybe_sent'));
      // What sockets and streams hold beside it is not the bound's matter.
      expect(sentBytes).toBeLessThan(4 * longestAnswerBytes);
    },
  );

  it('tells a break in the middle of a file from its end', async () => {
    await serve((_request, response) => {
      response.writeHead(200, speaker).write('half');
      setImmediate(() => response.destroy());
    });
    const bytes = await link.getFile(
      target,
      { path: 'x', user: 'policy', form: 'file', mostBytes: 100 },
      never,
    );
    expect(await troubleOf(Array.fromAsync(bytes))).toEqual(kind('maybe_sent'));
  });

  it.each([
    ['killed', 'SIGKILL'],
    // As a kubelet does with an evicted pod: nobody has cancelled the call.
    ['told to end', 'SIGTERM'],
  ] as const)('does not know what became of a call whose sandboxd was %s', async (_how, signal) => {
    const sandboxd = await startSandboxd();
    try {
      await sandboxd.link.bind(sandboxd.target, aBind(), never);
      const call = sandboxd.link.call(
        sandboxd.target,
        someCall,
        aShellCall('echo > started; sleep 5'),
        5000,
        never,
      );
      const trouble = troubleOf(call);
      await sandboxd.link.call(
        sandboxd.target,
        callId('wait'),
        aShellCall('while [ ! -e started ]; do sleep 0.02; done'),
        5000,
        never,
      );
      sandboxd.process.kill(signal);
      expect(await trouble).toEqual(kind('maybe_sent'));
      expect(await troubleOf(sandboxd.link.identity(sandboxd.target, never))).toEqual(kind('not_sent'));
    } finally {
      await sandboxd.stop();
    }
  });
});
