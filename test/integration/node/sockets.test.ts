import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nativeFile } from '#infra/payload/native/compile.ts';
import { mostSockets } from '#services/node/bwrap/limit-sockets.ts';
import { places } from '#services/node/bwrap/places.ts';
import { payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import { goInside, type Inside } from '#test/support/inside.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

/*
 * A sandbox has a limited number of sockets, because what they hold may be charged to no one. Programs that use sockets as usual do not
 * notice. `uncharged-memory.test.ts` measures what the limit is for.
 */

const mebibyte = 1024 * 1024;
const memory = { requestBytes: 64 * mebibyte, limitBytes: 256 * mebibyte };
const most = mostSockets(memory.limitBytes);

let node: TestNode;
let inside: Inside;
beforeAll(async () => {
  node = await startNodeProcess({ env: { CORRAL_NODE_USER_NAMESPACES: 'require' } });
  inside = await goInside(node, { processes: 64, memory });
});
afterAll(async () => {
  await inside.leave();
  await node.stop();
});

async function perl(program: string): Promise<string> {
  const action = { kind: 'exec', argv: ['perl', '-MSocket', '-MFcntl', '-e', program] } as const;
  const { stdout, stderr } = await inside.run(action);
  return `${stdout.head}${stderr.head}`;
}

async function javascript(program: string): Promise<unknown> {
  const argv = [...payloadNodeArgv(places.payload), '--input-type=module', '-e', program];
  const { stdout, stderr } = await inside.run({ kind: 'exec', argv });
  expect(stderr.head).toBe('');
  return JSON.parse(stdout.head);
}

/**
 * Opens sockets of a family until one fails, and says how many there were and why there is no further one. Closes them, and does so
 * again until it has as many: the kernel takes a moment to let go of closed ones.
 */
const openAllTwice = (family: number, type: number) => `
  sub all { while (socket(my $s, ${family}, ${type}, 0)) { push @all, $s } my $why = $!; my $n = @all; @all = (); ($n, $why) }
  my ($first, $why) = all();
  print "$first: $why";
  select(undef, undef, undef, 0.01) until (all())[0] >= $first;`;

test('memory decides how many sockets there may be, but small sandboxes have enough for a server', () => {
  expect([64, 256, 2_048].map((mebibytes) => mostSockets(mebibytes * mebibyte))).toEqual([512, 1_024, 8_192]);
});

describe('beyond the limit', () => {
  test.each([
    ['IPv4', 2, 1],
    ['IPv6', 10, 2],
    ['netlink', 16, 3],
  ])(
    'no socket of %s is made, and there are as many again once they are closed',
    async (_name, family, type) => {
      const first = await perl(openAllTwice(family, type));
      expect(first).toMatch(/^\d+: No buffer space available$/);
      // Of the others one is bubblewrap's or sandboxd's.
      expect(Number.parseInt(first, 10)).toBeGreaterThan(most - 10);
      expect(Number.parseInt(first, 10)).toBeLessThanOrEqual(most);
    },
  );

  test('no socket is connected, so that a queue of connections that nothing accepts cannot grow on', async () => {
    const program = `
      socket(my $l, AF_INET, SOCK_STREAM, 0); bind($l, sockaddr_in(0, INADDR_LOOPBACK)); listen($l, 4096);
      my $n = 0; my $reset = pack('Sx14', 0);
      socket(my $c, AF_INET, SOCK_STREAM, 0);
      while (connect($c, getsockname($l))) { $n++; connect($c, $reset) }
      print "$n: $!";`;
    const said = await perl(program);
    expect(said).toMatch(/^\d+: No buffer space available$/);
    expect(Number.parseInt(said, 10)).toBeLessThanOrEqual(most);
  });
});

/** Perl closes on exec whatever it opens by itself. */
const madeByCall = (type: number) =>
  `$f = syscall(${process.arch === 'x64' ? 41 : 198}, 16, ${type}, 0);
  open(my $info, '<', "/proc/self/fdinfo/$f"); print grep { /^flags/ } <$info>;`;

describe('a netlink socket', () => {
  test('is closed on exec and does not block where the program wants it so, and else not', async () => {
    expect(await perl(madeByCall(3))).toMatch(/^flags:\s+02\n$/);
    expect(await perl(madeByCall(3 | 0o2000000 | 0o4000))).toMatch(/^flags:\s+02004002\n$/);
  });

  test('keeps its small buffer, and a program that asks for a larger one sees no failure', async () => {
    const program = `socket(my $s, 16, 3, 0); print setsockopt($s, SOL_SOCKET, SO_RCVBUF, pack('i', 1 << 20)) ? 'done ' : $!;
      print unpack('i', getsockopt($s, SOL_SOCKET, SO_RCVBUF));`;
    expect(await perl(program)).toBe('done 32768');
  });
});

describe('ordinary programs work', () => {
  test('a list of network interfaces, names of hosts, and a datagram', async () => {
    const program = `
      import { networkInterfaces } from 'node:os';
      import { lookup } from 'node:dns/promises';
      import { createSocket } from 'node:dgram';
      const socket = createSocket('udp4');
      const heard = new Promise((resolve) => socket.once('message', (message) => resolve(String(message))));
      socket.bind(0, '127.0.0.1', () => socket.send('hello', socket.address().port, '127.0.0.1'));
      const seen = { interfaces: Object.keys(networkInterfaces()), host: (await lookup('localhost', 4)).address, heard: await heard };
      socket.close();
      console.log(JSON.stringify(seen));`;
    expect(await javascript(program)).toEqual({ interfaces: ['lo'], host: '127.0.0.1', heard: 'hello' });
  });

  test('a server with 200 connections at once, and 100 MB over one of them', async () => {
    const program = `
      import { createServer, request } from 'node:http';
      let open = 0, most = 0;
      const waiting = [];
      const server = createServer((asked, response) => {
        most = Math.max(most, open += 1);
        response.on('close', () => (open -= 1));
        if (asked.url === '/long') return sendLong(response);
        waiting.push(response);
        if (waiting.length === 200) for (const each of waiting) each.end('here');
      });
      const chunk = Buffer.alloc(1e6);
      async function sendLong(response) {
        for (let n = 0; n < 100; n += 1) if (!response.write(chunk)) await new Promise((drained) => response.once('drain', drained));
        response.end();
      }
      await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
      const get = (path) => new Promise((resolve, reject) =>
        request({ port: server.address().port, path, agent: false }, async (response) => {
          let bytes = 0;
          for await (const each of response) bytes += each.length;
          resolve(bytes);
        }).on('error', reject).end());
      const answers = await Promise.all(Array.from({ length: 200 }, () => get('/')));
      const long = await get('/long');
      server.close();
      console.log(JSON.stringify({ most, bytes: answers.reduce((sum, each) => sum + each), long }));`;
    expect(await javascript(program)).toEqual({ most: 200, bytes: 800, long: 100_000_000 });
  });
});

describe('the program that limits them', () => {
  const program = nativeFile('limit-sockets', process.arch);
  const run = (...args: readonly string[]) => {
    const { status, signal, stderr } = spawnSync(program, args);
    return { status, signal, stderr: String(stderr) };
  };

  test.each([
    ['exits', 'exit 7', 7],
    ['is killed', 'kill -9 $$', 137],
  ])('ends as its own program, which %s', (_what, script, status) => {
    expect(run('1', '/bin/sh', '-c', script)).toEqual({ status, signal: null, stderr: '' });
  });

  test.each([
    [['1', '/nowhere'], 'the program could not be run'],
    [['1'], 'MOST and PROGRAM are needed'],
  ])('says why it cannot start: %j', (args, why) => {
    expect(run(...args)).toEqual({ status: 127, signal: null, stderr: `limit-sockets: ${why}\n` });
  });

  test('leaves no descriptor of its own to its program', () => {
    const list = ['/bin/sh', '-c', 'exec ls /proc/self/fd'] as const;
    const without = spawnSync(list[0], list.slice(1)).stdout;
    expect(String(spawnSync(program, ['1', ...list]).stdout)).toBe(String(without));
  });
});
