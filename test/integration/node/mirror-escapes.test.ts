import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { goInside, type Inside } from '#test/support/inside.ts';
import { type PackageMirror, startPackageMirror } from '#test/support/package-mirror.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

/*
 * A sandbox with mirrors reaches the mirrors and nothing else: its network has no way out, and node asks only for what the operator
 * allows. `gateway` stands for every service of this machine, gateways and Redis among them.
 */

let mirror: PackageMirror;
let node: TestNode;
let inside: Inside;
const gateway = createServer((_request, response) => response.end('gateway'));
let gatewayPort: number;
let mirrorPort: string;

beforeAll(async () => {
  gateway.listen(0);
  await once(gateway, 'listening');
  gatewayPort = (gateway.address() as AddressInfo).port;
  mirror = await startPackageMirror();
  mirrorPort = new URL(mirror.origin).port;
  node = await startNodeProcess({
    env: { CORRAL_PRIVATE_ADDRESSES: '127.0.0.1/32', CORRAL_MIRROR_BYTES: '20000' },
  });
  inside = await goInside(node, { network: 'mirrors', mirrors: { pypi: [`${mirror.origin}/simple/`] } });
});
afterAll(async () => {
  await inside.leave();
  await node.stop();
  await mirror[Symbol.asyncDispose]();
  gateway.close();
});

/** Runs Python inside, with `open_tcp(host, port)` and `ask(raw)`, which sends bytes to the mirror's door and returns the first line of the answer. */
async function python(program: string): Promise<string> {
  const before = `
import os, socket
door = ('127.0.31.1', 13141)
def open_tcp(host, port):
    try:
        socket.create_connection((host, port), 2).close()
        return 'open'
    except OSError as error:
        return str(error) if isinstance(error, socket.gaierror) else os.strerror(error.errno)
def ask(raw):
    with socket.create_connection(door, 5) as connection:
        connection.sendall(raw)
        return connection.makefile('rb').readline().decode().strip()
`;
  const { stdout, stderr } = await inside.run({ kind: 'exec', argv: ['python3', '-c', before + program] });
  expect(stderr.head).toBe('');
  return stdout.head.trim();
}

describe('without the mirrors', () => {
  test.each([
    ["this machine's loopback", '127.0.0.1', () => gatewayPort],
    ["this machine's loopback over IPv6", '::1', () => gatewayPort],
    ['the mirror itself', '127.0.0.1', () => mirrorPort],
  ])('%s is the own one, where nothing listens', async (_name, host, port: () => string | number) => {
    expect(await python(`print(open_tcp('${host}', ${port()}))`)).toBe('Connection refused');
  });

  test.each([
    '169.254.169.254',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '1.1.1.1',
    'fd00::2',
    'fe80::1',
    '2606:4700::1111',
  ])('no route leads to %s', async (address) => {
    expect(await python(`print(open_tcp('${address}', 80))`)).toMatch(
      /^(?:Network is unreachable|Invalid argument)$/,
    );
  });

  test('no name is looked up, and no datagram leaves to a name server', async () => {
    expect(await python("print(open_tcp('packages.example', 443))")).toMatch(/name resolution|not known/);
    const sent = "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))";
    expect(
      await python(`
try: ${sent}
except OSError as error: print(os.strerror(error.errno))`),
    ).toBe('Network is unreachable');
  });
});

describe('through the mirrors', () => {
  test.each([
    ['another path of the server', () => 'GET /secret HTTP/1.1'],
    ['a path that climbs', () => 'GET /simple/../secret HTTP/1.1'],
    ['a path that climbs behind escapes', () => 'GET /simple/%2e%2e%2fsecret HTTP/1.1'],
    ['a path that climbs behind double escapes', () => 'GET /simple/%252e%252e%252fsecret HTTP/1.1'],
    ['a path that climbs with parameters', () => 'GET /simple/..;/secret HTTP/1.1'],
    ['another server in the path', () => `GET //127.0.0.1:${gatewayPort}/simple/ HTTP/1.1`],
    ['this machine, as from a proxy', () => `GET http://127.0.0.1:${gatewayPort}/ HTTP/1.1`],
    ['the secret of the mirror, as from a proxy', () => `GET http://127.0.0.1:${mirrorPort}/secret HTTP/1.1`],
    ['a metadata service, as from a proxy', () => 'GET http://169.254.169.254/latest/meta-data/ HTTP/1.1'],
  ])('%s is refused', async (_name, line: () => string) => {
    const before = mirror.asked.length;
    expect(await python(`print(ask(b'${line()}\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n'))`)).toBe(
      'HTTP/1.1 403 Forbidden',
    );
    expect(mirror.asked.length).toBe(before);
  });

  test.each([
    ['a tunnel', () => `CONNECT 127.0.0.1:${gatewayPort} HTTP/1.1`],
    ['a write', () => 'POST /simple/toy/ HTTP/1.1'],
  ])('%s is refused', async (_name, line: () => string) => {
    expect(await python(`print(ask(b'${line()}\\r\\nHost: x\\r\\nContent-Length: 0\\r\\n\\r\\n'))`)).toBe(
      'HTTP/1.1 405 Method Not Allowed',
    );
  });

  test('the name of a host leads to the mirror, whatever it is', async () => {
    const asked = `b'GET /simple/toy/ HTTP/1.1\\r\\nHost: 127.0.0.1:${gatewayPort}\\r\\nConnection: close\\r\\n\\r\\n'`;
    expect(await python(`print(ask(${asked}))`)).toBe('HTTP/1.1 200 OK');
    expect(mirror.headers.host).toBe(`127.0.0.1:${mirrorPort}`);
  });

  test('no program of the sandbox can take their place', async () => {
    expect(
      await python(`
try: socket.create_server(('0.0.0.0', 13141))
except OSError as error: print(os.strerror(error.errno))`),
    ).toBe('Address already in use');
  });
});

test('a name that leads to this machine is no mirror, unless its address is listed', async () => {
  const unlisted = await startNodeProcess();
  const named = `http://localhost:${gatewayPort}/`;
  const started = goInside(unlisted, { network: 'mirrors', mirrors: { pypi: [named] } });
  await expect(started).rejects.toThrow(/a package mirror cannot be reached: .*localhost.*EADDRCLOSED/);
  await unlisted.stop();
});

test('a sandbox without mirrors has neither their door nor their settings', async () => {
  const none = await goInside(node);
  const { stdout } = await none.sh(
    'env | grep -c -i -e mirror -e PIP_ -e npm_; ls /etc/corral-apt.conf 2>&1; python3 -c "import socket; socket.create_connection((\'127.0.31.1\', 13141))" 2>&1 | tail -1',
  );
  expect(stdout.head).toMatch(/^0\n.*No such file.*\n.*Connection refused/);
  await none.leave();
});

describe('the bounds of a sandbox', () => {
  test('128 connections at a time; the next is closed, and there is room again when one ends', async () => {
    const program = `
import time
held = [socket.create_connection(door, 5) for _ in range(128)]
line = b'GET /simple/toy/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n'
# All are taken once the last is answered.
held[-1].sendall(line.replace(b'close', b'keep-alive')); held[-1].recv(1000)
try: print(ask(line) or 'closed')
except ConnectionError: print('closed')
for each in held: each.close()
while True:
    try: answer = ask(line)
    except ConnectionError: answer = ''
    if answer: break
print(answer)`;
    expect(await python(program)).toBe('closed\nHTTP/1.1 200 OK');
  });

  test('as many bytes as the operator allows; then every request is refused, and that of a neighbor is not', async () => {
    const asked = `b'GET /simple/toy/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n'`;
    const program = `
count = 0
while (answer := ask(${asked})) != 'HTTP/1.1 429 Too Many Requests' and count < 5000: count += 1
print(answer, 20 < count < 200)`;
    expect(await python(program)).toBe('HTTP/1.1 429 Too Many Requests True');
    const neighbor = await goInside(node, {
      network: 'mirrors',
      mirrors: { pypi: [`${mirror.origin}/simple/`] },
    });
    const { stdout } = await neighbor.sh(
      "python3 -c \"import os,urllib.request as r; print(r.urlopen(os.environ['PIP_INDEX_URL'] + 'toy/').status)\"",
    );
    expect(stdout.head).toBe('200\n');
    await neighbor.leave();
  });
});
