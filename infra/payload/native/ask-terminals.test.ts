import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { buffer, text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { longestReplyBytes } from '#src/protocol/sandboxd/terminals.ts';
import { nativeFile } from './compile.ts';

const program = nativeFile('ask-terminals', process.arch);
const ended =
  'Error: the session server has ended, and its sessions with it; terminal_open or browser_goto starts another\n';

let folder: string;
let socketPath: string;
let server: Server | undefined;
const peers = new Set<Socket>();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-ask-'));
  socketPath = join(folder, 'socket');
});
afterEach(() => {
  for (const peer of peers) peer.destroy();
  server?.close();
  server = undefined;
  rmSync(folder, { recursive: true });
});

async function serve(onPeer: (peer: Socket) => void): Promise<void> {
  server = createServer({ allowHalfOpen: true }, (peer) => {
    peers.add(peer);
    peer.on('error', () => {});
    onPeer(peer);
  });
  server.listen(socketPath);
  await once(server, 'listening');
}

async function ask(request: string, { seconds = 60, start = [] as readonly string[] } = {}) {
  const child = spawn(program, [socketPath, String(seconds), ...start], { env: { OWN: 'secret' } });
  child.stdin.on('error', () => {});
  child.stdin.end(request);
  const exit = once(child, 'exit');
  const [out, reason] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [status] = (await exit) as [number | null];
  return { out, reason, status };
}

it('sends its input to the end, and prints what is granted', async () => {
  const request = 'x'.repeat(2 * 1024 * 1024);
  await serve((peer) => void buffer(peer).then(({ length }) => peer.end(`+${length} bytes`)));
  expect(await ask(request)).toEqual({ out: `${request.length} bytes`, reason: '', status: 0 });
});

it('takes its request from a variable, and then reads no input', async () => {
  await serve((peer) => void buffer(peer).then((request) => peer.end(`+${request.toString()}`)));
  const env = { REQUEST: '{"text":"caf\u00E9"}', OTHER: 'x' };
  const child = spawn(program, [socketPath, '60'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  expect(await text(child.stdout)).toBe(env.REQUEST);
  child.stdin.destroy();
});

it('an answer of the longest length passes, and a longer one is cut off with a sentence', async () => {
  let extra = 0;
  await serve((peer) => {
    peer.resume().end(`+${'y'.repeat(longestReplyBytes - 1 + extra)}`);
  });
  const { out, status } = await ask('');
  expect([out.length, status]).toEqual([longestReplyBytes - 1, 0]);
  extra = 1;
  const reason = 'Error: the answer of the session is too long\n';
  expect(await ask('')).toEqual({ out: '', reason, status: 1 });
});

it('prints what is refused as an error, also before the request has been read', async () => {
  await serve((peer) => void peer.end('-too long'));
  expect(await ask('x'.repeat(1024 * 1024))).toEqual({ out: '', reason: 'Error: too long\n', status: 1 });
});

it.each([
  ['nothing', (peer: Socket) => void peer.end()],
  ['a broken connection', (peer: Socket) => void peer.destroy()],
  ['what is no answer', (peer: Socket) => void peer.resume().end('hello')],
])('%s means that the server has ended', async (_, onPeer) => {
  await serve(onPeer);
  expect(await ask('{}')).toEqual({ out: '', reason: ended, status: 1 });
});

it('an answer that never ends, however many pieces come, is late', async () => {
  await serve((peer) => {
    const feeding = setInterval(() => peer.write('+'), 50);
    peer.once('close', () => clearInterval(feeding));
  });
  const { reason, status } = await ask('{}', { seconds: 1 });
  expect(reason).toBe(
    `Error: the session server does not answer; end it, or remove ${folder}, then open a session again\n`,
  );
  expect(status).toBe(1);
});

const piece = (text: string) => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(Buffer.byteLength(text));
  return Buffer.concat([length, Buffer.from(text)]);
};
const last = Buffer.alloc(4);

it('prints each piece of a stream when it comes, and ends as the answer after it says', async () => {
  const goOn = Promise.withResolvers<void>();
  await serve((peer) => {
    peer.write('~');
    peer.write(piece('first '));
    void goOn.promise.then(() => {
      // Cut where it may be cut on its way.
      for (const byte of Buffer.concat([piece('second'), last])) peer.write(Buffer.of(byte));
      peer.end('+');
    });
  });
  const child = spawn(program, [socketPath, '60'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const exit = once(child, 'exit');
  const [first] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  expect(first).toBe('first ');
  goOn.resolve();
  expect(first + (await text(child.stdout))).toBe('first second');
  expect(await exit).toEqual([0, null]);
});

it.each([
  ['breaks off between two pieces', [piece('one')], ended],
  ['breaks off in a piece', [piece('one'), piece('two').subarray(0, 6)], ended],
  ['has no answer after its last piece', [piece('one'), last], ended],
  ['ends with a refusal', [piece('one'), last, Buffer.from('-too slow')], 'Error: too slow\n'],
  [
    'has a piece without end',
    [piece('one'), Buffer.of(0xff, 0xff, 0xff, 0xff)],
    "Error: a piece of the terminal's output is too long\n",
  ],
])('a stream that %s has failed', async (_, pieces, reason) => {
  await serve((peer) => void peer.resume().end(Buffer.concat([Buffer.from('~'), ...pieces])));
  expect(await ask('{}')).toEqual({ out: 'one', reason, status: 1 });
});

it('without a server, only an open starts one', async () => {
  const reason = 'Error: no terminal is open; terminal_open opens one\n';
  expect(await ask('{}')).toEqual({ out: '', reason, status: 1 });
  server = createServer().listen(socketPath);
  await once(server, 'listening');
  const left = join(folder, 'left');
  // A server that was killed leaves its socket.
  await once(spawn('ln', [socketPath, left]), 'exit');
  server.close();
  await once(spawn('mv', [left, socketPath]), 'exit');
  expect((await ask('{}')).reason).toBe(reason);
});

it('a server that is started has no variable, stream or folder of its client, and outlives it', async () => {
  const code = [
    "const { createServer } = require('node:net');",
    "const { readlinkSync } = require('node:fs');",
    "const stdin = readlinkSync('/proc/self/fd/0');",
    'const seen = JSON.stringify([process.cwd(), Object.keys(process.env), stdin, process.argv.slice(1)]);',
    "const server = createServer((peer) => peer.end('+' + seen + process.pid));",
    "server.listen(process.argv[1], () => console.log('ready'));",
  ].join('\n');
  const start = [process.execPath, '-e', code, socketPath, 'pty'];
  const { out } = await ask('{}', { start });
  const [seen, pid] = [out.slice(0, out.lastIndexOf(']') + 1), Number(out.slice(out.lastIndexOf(']') + 1))];
  try {
    expect(JSON.parse(seen)).toEqual(['/', [], '/dev/null', [socketPath, 'pty']]);
    expect((await ask('{}')).out).toBe(out);
  } finally {
    process.kill(pid, 'SIGKILL');
  }
});

it.each([
  [['/nowhere'], 'its program cannot be run'],
  [['/bin/sh', '-c', 'echo "why not" >&2; exit 1'], 'why not'],
  [['/bin/sh', '-c', 'while echo more >&2; do :; done; exec sleep 1000'], 'more'],
])('a server that does not start is a sentence: %j', async (start, why) => {
  const { reason, status } = await ask('{}', { start });
  expect(reason.slice(0, 600)).toContain(`Error: the session server did not start: ${why}`);
  expect([reason.length < 600, status]).toEqual([true, 1]);
});

it('a socket that another program has taken away is a sentence', async () => {
  const start = ['/bin/sh', '-c', 'echo ready'];
  expect((await ask('{}', { start })).reason).toContain('does not answer; end it, or remove');
});
