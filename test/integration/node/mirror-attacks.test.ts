import { readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { places } from '#services/node/bwrap/places.ts';
import type { CallAnswer } from '#src/protocol/sandboxd/wire.ts';
import { goInside, type Inside } from '#test/support/inside.ts';
import { type PackageMirror, startPackageMirror } from '#test/support/package-mirror.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

/*
 * A process of its own asks mirrors for a sandbox. A policy that attacks it hurts its own sandbox alone, and a request that is lost with
 * the process is no result of the model's.
 */

let mirror: PackageMirror;
let node: TestNode;
let inside: Inside;
beforeAll(async () => {
  mirror = await startPackageMirror();
  node = await startNodeProcess({ env: { CORRAL_PRIVATE_ADDRESSES: '127.0.0.1/32' } });
});
beforeEach(async () => {
  inside = await goInside(node, { network: 'mirrors', mirrors: { pypi: [`${mirror.origin}/simple/`] } });
});
afterEach(async () => {
  mirror.become('works');
  await inside.leave();
});
afterAll(async () => {
  await node.stop();
  await mirror[Symbol.asyncDispose]();
});

const python = (program: string): Promise<CallAnswer> =>
  inside.run({ kind: 'exec', argv: ['python3', '-c', helpers + program] });

/** `reset(socket)` closes it with RST. */
const helpers = `
import socket, struct, time
door = ('127.0.31.1', 13141)
line = b'GET /simple/toy/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'
def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    connection.close()
def connected():
    return socket.create_connection(door, 5)
`;

const ask = (path = 'toy/') =>
  inside.sh(`curl -s -o /dev/null -w '%{http_code}' "\${CORRAL_MIRROR_PYPI}${path}"`);

/** The process that asks mirrors for the one sandbox of this node. */
function proxyPid(): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const found = pids.find((pid) => isProxy(pid));
  if (found === undefined) throw new Error('no proxy runs');
  return Number(found);
}

function isProxy(pid: string): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return command.includes('mirror-proxy.mjs') && status.includes(`\nPPid:\t${node.process.pid}\n`);
  } catch {
    return false;
  }
}

describe('resets', () => {
  test.each([
    ['before a request', 'pass'],
    ['in the headers of a request', 'c.sendall(line[:20])'],
    ['after a request', 'c.sendall(line)'],
    ['after many requests', 'c.sendall(line * 10)'],
    ['in an answer', 'c.sendall(line); c.recv(10)'],
    ['after a tunnel was asked for', "c.sendall(b'CONNECT x:1 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')"],
    ['in the answer to a tunnel', "c.sendall(b'CONNECT x:1 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); c.recv(1)"],
    [
      'after an upgrade was asked for',
      "c.sendall(line[:-2] + b'Connection: upgrade\\r\\nUpgrade: x\\r\\n\\r\\n')",
    ],
    ['after what is no request', "c.sendall(b'\\x16\\x03\\x01' * 100)"],
    ['with a body', "c.sendall(b'POST /simple/ HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 9\\r\\n\\r\\nx')"],
  ])('%s end neither the proxy nor node', async (_stage, stage) => {
    const before = proxyPid();
    const { stderr } = await python(`
for _ in range(20):
    c = connected(); ${stage}; reset(c)
`);
    expect(stderr.head).toBe('');
    const answer = await ask();
    expect(answer.stdout.head).toBe('200');
    expect(answer.evidence.mirrors).toMatchObject({ lost: 0 });
    expect(proxyPid()).toBe(before);
  });

  test('a mirror that resets while the sandbox resets too ends neither', async () => {
    const before = proxyPid();
    mirror.become('breaks off');
    await python(`
for _ in range(20):
    c = connected(); c.sendall(line); c.recv(10); reset(c)
`);
    mirror.become('works');
    expect((await ask()).stdout.head).toBe('200');
    expect(proxyPid()).toBe(before);
  });
});

describe('bounds', () => {
  test('a connection that sends more than 16 requests at once is closed, and the others are not asked', async () => {
    mirror.become('is silent');
    const before = mirror.asked.length;
    const { stdout, evidence } = await python(`
c = connected()
try:
    c.sendall(line * 20000)
    print(len(c.recv(1)))
except ConnectionError: print(0)
`);
    expect(stdout.head).toBe('0\n');
    expect(evidence.mirrors?.refused).toBeGreaterThan(0);
    expect(mirror.asked.length - before).toBeLessThanOrEqual(1);
  });

  test('requests of a connection are asked one after another', async () => {
    const { stdout } = await python(`
c = connected(); c.sendall(line * 9 + line[:-2] + b'Connection: close\\r\\n\\r\\n')
print(c.makefile('rb').read().count(b'HTTP/1.1 200 OK'))
`);
    expect(stdout.head).toBe('10\n');
    expect(mirror.mostAtOnce).toBe(1);
  });

  test('at most 64 requests of a sandbox are under way', async () => {
    mirror.become('is silent');
    const before = mirror.asked.length;
    await python(`
held = [connected() for _ in range(100)]
for each in held: each.sendall(line)
# Connections are accepted in their order: all are once the one above the bound is closed.
over = [connected() for _ in range(29)]
print(over[-1].recv(1))
`);
    const asked = mirror.asked.length - before;
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThanOrEqual(64);
  });
});

/** A turn of the grader, which runs `script`. */
const grade = (script: string) =>
  inside.run({
    kind: 'grade',
    turn: 1,
    argv: ['sh', '-c', `${script}; echo 1 > "$CORRAL_SCORE_FILE"`],
    files: {},
    stdin: '{}',
  });

describe('a proxy that dies', () => {
  test('costs the command that asked it a loss, and the next command finds another one', async () => {
    mirror.become('is silent');
    const asking = ask();
    await mirror.nextAsked();
    process.kill(proxyPid(), 'SIGKILL');
    expect((await asking).evidence.mirrors).toMatchObject({ asked: 1, lost: 1 });
    mirror.become('works');
    const answer = await ask();
    expect(answer.stdout.head).toBe('200');
    expect(answer.evidence.mirrors).toMatchObject({ asked: 1, failed: 0, lost: 0 });
  });

  test('costs a grader that asked it a loss', async () => {
    mirror.become('is silent');
    const asking = grade('curl -s -o /dev/null "${CORRAL_MIRROR_PYPI}toy/"');
    await mirror.nextAsked();
    process.kill(proxyPid(), 'SIGKILL');
    expect((await asking).evidence.mirrors).toMatchObject({ lost: 1 });
  });

  test('leaves its place to no program of the sandbox', async () => {
    process.kill(proxyPid(), 'SIGKILL');
    const { stdout } = await python(`
for _ in range(200):
    try: socket.create_server(('127.0.31.1', 13141)); print('taken')
    except OSError as error: pass
    time.sleep(0.002)
`);
    expect(stdout.head).toBe('');
  });

  test('with a tally that cannot be counted on marks every later call, and its neighbor has its mirrors', async () => {
    truncateSync(join(node.stateFolder, 'sandboxes', inside.sandbox, 'run/mirrors.json'), 10);
    process.kill(proxyPid(), 'SIGKILL');
    expect((await inside.sh(':')).evidence.mirrors).toMatchObject({ lost: 1 });
    const neighbor = await goInside(node, {
      network: 'mirrors',
      mirrors: { pypi: [`${mirror.origin}/simple/`] },
    });
    const { stdout, evidence } = await neighbor.sh(
      `curl -s -o /dev/null -w '%{http_code}' "\${CORRAL_MIRROR_PYPI}toy/"`,
    );
    expect(stdout.head).toBe('200');
    expect(evidence.mirrors).toMatchObject({ lost: 0 });
    await neighbor.leave();
  });
});

test('commands that are root in their sandbox can neither write its tally nor put another in its place', async () => {
  const mirrors = { pypi: [`${mirror.origin}/simple/`] };
  const rooted = await goInside(node, { network: 'mirrors', mirrors, runAs: 'root' });
  const tally = `${places.daemon}/mirrors.json`;
  const attacks = [
    `: >> ${tally}`,
    `rm -f ${tally}`,
    `mv ${tally} /tmp/tally`,
    `cp ${tally} /tmp/other; mv /tmp/other ${tally}`,
    `ln -sf /tmp/other ${tally}`,
    `mount --bind /tmp/other ${tally}`,
    `chmod 777 ${places.daemon}`,
    `: > ${places.daemon}/more`,
  ];
  const said = await rooted.sh(
    `id -u; ${attacks.map((attack) => `(${attack}) 2>/dev/null && echo done`).join('; ')}`,
  );
  expect(said.stdout.head).toBe('0\n');
  const asked = await rooted.sh(`curl -s -o /dev/null "\${CORRAL_MIRROR_PYPI}toy/"`);
  expect(asked.evidence.mirrors).toMatchObject({ asked: 1, failed: 0, lost: 0 });
  await rooted.leave();
});

test('the proxy has no right of root, no group, and no file of node', () => {
  const status = readFileSync(`/proc/${proxyPid()}/status`, 'utf8');
  expect(status).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m);
  expect(status).toMatch(/^Groups:\t *$/m);
  expect(status).toMatch(/^CapEff:\t0+$/m);
  expect(status).toMatch(/^NoNewPrivs:\t1$/m);
});
